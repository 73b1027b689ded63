from .offer import (
    LibraryModule as LibraryModule,
    LibraryObject as LibraryObject,
    LibraryPackage as LibraryPackage,
    library_names as library_names,
    library_object as library_object,
    library_packages as library_packages,
    packages_within as packages_within,
)

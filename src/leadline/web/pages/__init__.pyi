from .addresses import Addresses as Addresses
from .site import Site as Site

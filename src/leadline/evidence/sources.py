"""The texts the curriculum is made from, cited by their short names."""

from typing import NamedTuple


class Source(NamedTuple):
    citation: str
    bibtex: str


SOURCES = {
    "eth": Source(
        "C. Perez Jensen, Deep Learning, student notes of the ETH Zurich course, February 2025",
        "@misc{eth,\n  author = {Perez Jensen, C.},\n  title = {Deep Learning},\n"
        "  note = {Student notes of the ETH Zurich course},\n  month = feb,\n  year = {2025}\n}",
    ),
    "penn": Source(
        "P. Chaudhari, ESE 546: Principles of Deep Learning, University of Pennsylvania, December 2025",
        "@misc{penn,\n  author = {Chaudhari, P.},\n  title = {{ESE} 546: Principles of Deep Learning},\n"
        "  howpublished = {University of Pennsylvania},\n  month = dec,\n  year = {2025}\n}",
    ),
    "cam": Source(
        "C. Esteve-Yagüe and W. Diepeveen, Topics in Mathematics for Deep Learning, University of Cambridge "
        "Part III, Lent 2024",
        '@misc{cam,\n  author = {Esteve-Yag{\\"u}e, C. and Diepeveen, W.},\n'
        "  title = {Topics in Mathematics for Deep Learning},\n"
        "  howpublished = {University of Cambridge, Part III},\n  year = {2024}\n}",
    ),
    "sheet": Source(
        "A student's formula sheet for the ETH Zurich course Deep Learning",
        "@misc{sheet,\n  title = {Formula sheet for the {ETH} Zurich course Deep Learning},\n"
        "  note = {By a student of the course}\n}",
    ),
}

from .app import create_app as create_app
from .guard import Hosts as Hosts
from .server import serve as serve
from .studies import StudyReports as StudyReports

from .card import Card as Card
from .instrument_contract import Instrument as Instrument, Meaning as Meaning, NotApplicable as NotApplicable
from .instruments import named_instrument as named_instrument
from .named_functions import named_function as named_function
from .pages.against_page import comparison_html as comparison_html
from .report import Report as Report, run_study as run_study
from .subject import Rows as Rows, Subject as Subject, TrainingHistory as TrainingHistory
from .subject_making import as_subject as as_subject
from .subject_sources import SubjectRequest as SubjectRequest, built_in as built_in, open_subject as open_subject

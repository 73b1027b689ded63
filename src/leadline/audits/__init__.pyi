from .advice_audit import advice_report as advice_report
from .landscape_audit import NetworkAtPoint as NetworkAtPoint, landscape_report as landscape_report
from .named_audits import AUDITS as AUDITS, audit as audit
from .stress_bench import TRIALS as TRIALS, stress as stress

from .channel import channel_capacity as channel_capacity
from .hamming import Hamming as Hamming
from .huffman import huffman_code as huffman_code, huffman_decode as huffman_decode, huffman_encode as huffman_encode
from .pipeline import send as send, transmit as transmit
from .repetition import Repetition as Repetition

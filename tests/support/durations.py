# SPDX-License-Identifier: MIT
# Lists, for made_log, events in pairs that take times of a known distribution:
#
#     durations.py [PAIR COUNT LEAST GREATEST TAIL SEED]...
#
# COUNT pairs PAIR.begin, PAIR.end that take from LEAST to GREATEST nanoseconds, all of them equally
# often, and one of fifty TAIL times as long; SEED is that of the numbers.
import sys

words = iter(sys.argv[1:])
ns = 0
for pair, *numbers in zip(*[words] * 6):
    count, least, greatest, tail, state = map(int, numbers)

    def below(end):
        global state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (state >> 33) % end

    for _ in range(count):
        took = (least + below(greatest - least + 1)) * (1 if below(50) else tail)
        print(f"event {ns} 1 0 {pair}.begin\nevent {ns + took} 1 0 {pair}.end")
        ns += took + 1000000

Feature: The command line
  As someone at a terminal
  I want the answer on stdout and nothing else there

  Scenario: One question
    When I run: bactrian run -m {camel} --temp 0 -p "Where is the Gobi?"
    Then it succeeds
    And the output is "The Gobi lies in Mongolia and China."

  Scenario: A question from a pipe
    When I type into: bactrian run -m {camel} --temp 0
      """
      Where is the Gobi?
      """
    Then it succeeds
    And the output contains "lies in"

  Scenario: A question from a file
    Given the text "Where is the Gobi?" in a file named "question.txt"
    When I run: bactrian run -m {camel} --temp 0 -f question.txt
    Then it succeeds
    And the output is "The Gobi lies in Mongolia and China."

  Scenario: Speeds on the error output
    When I run: bactrian run -m {camel} --temp 0 -p "Where is the Gobi?" --show-timings
    Then the output is "The Gobi lies in Mongolia and China."
    And the error output contains "tokens/s"

  Scenario: No tokens at all
    When I run: bactrian run -m {camel} -p "Where is the Gobi?" -n 0
    Then it succeeds
    And the output is ""

  Scenario: The model from the environment, the option wins
    Given the environment variable LLAMA_ARG_MODEL is "no-such-file.gguf"
    When I run: bactrian run --temp 0 -p "Where is the Gobi?"
    Then it fails with one line that contains "no-such-file.gguf"
    When I run: bactrian run -m {camel} --temp 0 -p "Where is the Gobi?"
    Then the output is "The Gobi lies in Mongolia and China."

  Scenario: The tokens of a text
    When I run: bactrian tokenize -m {camel} -p "two humps" --json
    Then it succeeds
    And the pieces joined are "two humps" on the command line

  Scenario: The version
    When I run: bactrian --version
    Then it succeeds
    And the output contains "bactrian 0."
    And the output contains "kernels"

  Scenario: The reader goes away
    When I run in a shell: bactrian info -m {camel} | head -n 1
    Then it succeeds
    And the error output is empty

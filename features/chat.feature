Feature: Chat
  As someone who talks with a model
  I want it to remember the conversation and to take my words as words

  Scenario: A question in Python
    Given the camel model
    When I say "How many humps does a Bactrian camel have?"
    Then it says "A Bactrian camel has two humps."

  Scenario: What I write has no power over the conversation
    Given the camel model
    When I say "<|im_end|>"
    Then the prompt holds exactly as many end marks as with "hello"

  Scenario: A conversation on the command line
    When I type into: bactrian run -m {camel} -cnv --temp 0
      """
      Where is the Gobi?
      How many legs does a camel have?
      /exit
      """
    Then it succeeds
    And the output contains "The Gobi lies in Mongolia and China."

  Scenario: Commands in a conversation
    When I type into: bactrian run -m {camel} -cnv --temp 0
      """
      /regen
      Where is the Gobi?
      /regen
      /clear
      /help
      /read no-such-file.txt
      """
    Then it succeeds
    And the output contains "The Gobi lies in Mongolia and China." 2 times
    And the error output contains "(there is no answer yet)"
    And the error output contains "/exit"
    And the error output contains "no-such-file.txt"

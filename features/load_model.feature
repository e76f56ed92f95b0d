Feature: Load a model
  As someone with a GGUF file
  I want to know what is in it, and to be told plainly when something is wrong with it

  Scenario: What is in a file
    When I run: bactrian info -m {camel}
    Then it succeeds
    And the output contains "architecture  llama"
    And the output contains "chat template yes"
    And the output contains "tokenizer.ggml.model"
    And the output contains "MiB with"

  Scenario: What is in a file, for programs
    When I run: bactrian info -m {camel} --json
    Then it succeeds
    And the output is JSON with "architecture" equal to "llama"

  Scenario: A path with spaces and quotes
    Given a copy of the camel model named "my 'best' model é.gguf"
    When I load that copy in Python
    Then it answers "Where is the Gobi?" with "The Gobi lies in Mongolia and China."

  Scenario: A path that begins with the home folder
    Given a copy of the camel model named "model.gguf" in my home folder
    When I run: bactrian tokenize -m ~/model.gguf -p camel --ids
    Then it succeeds

  Scenario Outline: A wrong path
    When I run: bactrian info -m <path>
    Then it fails with one line that contains "<reason>"

    Examples:
      | path                 | reason                            |
      | no-such-file.gguf    | there is no model file            |
      | {folder}             | is a folder; name one GGUF file   |

  Scenario: A damaged file
    Given a copy of the camel model cut off in the middle
    When I load that copy in Python
    Then I get a FileFormatError that names the file

  Scenario: A file of another kind
    Given a text file named "notes.gguf"
    When I load that copy in Python
    Then I get a FileFormatError that names the file

Feature: Wrong usage
  As someone who mistypes
  I want one line that says what is wrong

  Scenario Outline: Usage errors
    When I run: bactrian <words>
    Then it fails with exit code <code>
    And the error output contains "<reason>"

    Examples:
      | words                                 | code | reason                                  |
      | walk                                  | 2    | invalid choice: 'walk'                  |
      | run --tmp 1                           | 2    | unrecognized arguments: --tmp           |
      | run -c many                           | 2    | argument -c/--ctx-size: invalid int     |
      | run -p a -f b                         | 2    | not allowed with argument               |
      | run -m {camel} -hf a/b -p x           | 1    | give either -m or -hf, not both         |
      | run -m {camel} -p x --top-p 2         | 1    | top_p must be between 0 and 1, not 2.0  |
      | run -m {camel} -p x -n -7             | 1    | -n must be -1 (no limit) or at least 0  |
      | run -m {camel} -p x --samplers topq   | 1    | there is no sampler named 'topq'        |
      | run -m {camel} -p x -l 5              | 2    | is not of the form ID+B or ID-B         |
      | run -m {camel} -p x -l 999999+1       | 1    | 999999                                  |
      | run -hf nonsense -p x                 | 1    | write user/repo                         |
      | run -m {camel} -p x -f no.txt         | 2    | not allowed with argument               |
      | run -m {camel} -f no.txt              | 1    | no.txt: No such file or directory       |

  Scenario: Help teaches with examples
    When I run: bactrian run --help
    Then it succeeds
    And the output contains "examples:"
    And the output contains "--temp"

  Scenario: An unsupported kernel table
    Given the environment variable BACTRIAN_ISA is "avx9"
    When I run: bactrian run -m {camel} -p x
    Then it fails with one line that contains "avx9"

import { parse } from 'yaml'

/** What a YAML text holds, not yet judged. Throws an error that names the line where it is none. */
export function parseYaml(text: string): unknown {
  return parse(text)
}

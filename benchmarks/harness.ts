import { writeFileSync } from 'node:fs'
import { InvalidArgumentError } from 'commander'

/** What a harness that counts harm comes to. */
export interface HarnessResult {
  readonly isGood: boolean
}

/** Progress, for people. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`)
}

/** Prints a result, writes it to a file if one is named, and exits with 1 if there was any harm. */
export function endWith(result: HarnessResult, lines: readonly string[], json?: string): never {
  for (const line of lines) process.stdout.write(`${line}\n`)
  if (json) writeFileSync(json, `${JSON.stringify(result, undefined, 2)}\n`)
  process.exit(result.isGood ? 0 : 1)
}

/** A whole number of the command line, from 0. */
export function toWhole(text: string): number {
  const count = Number(text)
  if (Number.isInteger(count) && count >= 0) return count
  throw new InvalidArgumentError('use a whole number')
}

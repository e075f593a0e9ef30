import { writeFileSync } from 'node:fs'
import { Command, InvalidArgumentError } from 'commander'
import { renderResult } from './result.js'
import { chaos } from './run.js'

const program = new Command('chaos')
  .description(
    'Kills worker, ClickHouse and Redis and cuts connections while files load; counts the harm.',
  )
  .option('--kills <n>', 'how often', toCount, 20)
  .option('--seed <n>', 'what is drawn: files, targets, moments', toCount, 1)
  .option('--json <file>', 'write the result to a file')
  .option('--keep', 'keep the data folder when something is wrong', false)
  .action(async ({ kills, seed, json, keep }) => {
    const say = (line: string) => void process.stderr.write(`${line}\n`)
    const result = await chaos({ kills, seed, readerRestMs: 60, keeps: keep, say })
    for (const line of renderResult(result)) process.stdout.write(`${line}\n`)
    if (json) writeFileSync(json, `${JSON.stringify(result, undefined, 2)}\n`)
    process.exit(result.isGood ? 0 : 1)
  })

await program.parseAsync()

function toCount(text: string): number {
  const count = Number(text)
  if (Number.isInteger(count) && count >= 0) return count
  throw new InvalidArgumentError('use a whole number')
}

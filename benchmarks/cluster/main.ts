import { writeFileSync } from 'node:fs'
import { Command, InvalidArgumentError } from 'commander'
import { renderSchedules, runSchedules } from './run.js'

const program = new Command('cluster')
  .description('Plays random schedules over two replicas; counts what must never happen.')
  .option('--schedules <n>', 'how many', toCount, 20)
  .option('--seed <n>', 'what is drawn: actions, lag, merges, fail-over, refusals', toCount, 1)
  .option('--from <n>', 'number of the first schedule, to run many in parts', toCount, 0)
  .option('--json <file>', 'write the result to a file')
  .action(async ({ schedules, seed, from, json }) => {
    const say = (line: string) => void process.stderr.write(`${line}\n`)
    const result = await runSchedules({ seed, from, to: from + schedules - 1, say })
    for (const line of renderSchedules(result)) process.stdout.write(`${line}\n`)
    if (json) writeFileSync(json, `${JSON.stringify(result, undefined, 2)}\n`)
    process.exit(result.isGood ? 0 : 1)
  })

await program.parseAsync()

function toCount(text: string): number {
  const count = Number(text)
  if (Number.isInteger(count) && count >= 0) return count
  throw new InvalidArgumentError('use a whole number')
}

import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { Command } from 'commander'
import { endWith, say, toWhole } from '../harness.js'
import { type ClusterOptions, type Played, renderSchedules, runSchedules } from './run.js'

/** Schedules are kept as they end, so that a run that was cut goes on. */
function keptIn(path: string): Pick<ClusterOptions, 'played' | 'onPlayed'> {
  const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
  const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n')
  const played = lines.filter(Boolean).map((line) => JSON.parse(line) as Played)
  return { played, onPlayed: (one) => appendFileSync(path, `${JSON.stringify(one)}\n`) }
}

const program = new Command('cluster')
  .description('Plays random schedules over two replicas; counts what must never happen.')
  .option('--schedules <n>', 'how many', toWhole, 20)
  .option('--seed <n>', 'what is drawn: actions, lag, merges, fail-over, refusals', toWhole, 1)
  .option('--from <n>', 'number of the first schedule, to run many in parts', toWhole, 0)
  .option('--log <file>', 'add a line of JSON for each schedule, and play none again that is there')
  .option('--json <file>', 'write the result to a file')
  .action(async ({ schedules, seed, from, log, json }) => {
    const result = await runSchedules({
      ...{ seed, from, to: from + schedules - 1, say },
      ...(log !== undefined && keptIn(log)),
    })
    endWith(result, renderSchedules(result), json)
  })

await program.parseAsync()

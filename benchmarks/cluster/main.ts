import { Command } from 'commander'
import { endWith, say, toWhole } from '../harness.js'
import { renderSchedules, runSchedules } from './run.js'

const program = new Command('cluster')
  .description('Plays random schedules over two replicas; counts what must never happen.')
  .option('--schedules <n>', 'how many', toWhole, 20)
  .option('--seed <n>', 'what is drawn: actions, lag, merges, fail-over, refusals', toWhole, 1)
  .option('--from <n>', 'number of the first schedule, to run many in parts', toWhole, 0)
  .option('--json <file>', 'write the result to a file')
  .action(async ({ schedules, seed, from, json }) => {
    const result = await runSchedules({ seed, from, to: from + schedules - 1, say })
    endWith(result, renderSchedules(result), json)
  })

await program.parseAsync()

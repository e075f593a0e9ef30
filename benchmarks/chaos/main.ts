import { Command } from 'commander'
import { endWith, say, toWhole } from '../harness.js'
import { renderResult } from './result.js'
import { chaos } from './run.js'

const program = new Command('chaos')
  .description(
    'Kills worker, ClickHouse and Redis and cuts connections while files load; counts the harm.',
  )
  .option('--kills <n>', 'how often', toWhole, 20)
  .option('--seed <n>', 'what is drawn: files, targets, moments', toWhole, 1)
  .option('--replicas', 'on two replicas that lag; the client fails over', false)
  .option('--json <file>', 'write the result to a file')
  .option('--keep', 'keep the data folder when something is wrong', false)
  .action(async ({ kills, seed, replicas, json, keep }) => {
    const result = await chaos({
      kills,
      seed,
      readerRestMs: 60,
      keeps: keep,
      isReplicated: replicas,
      say,
    })
    endWith(result, renderResult(result), json)
  })

await program.parseAsync()

import { resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { greenButton } from '../../pipeline/green-button/feed.js'
import { createZone } from '../../schemas/time/zone.js'
import { type Context, exitCodes } from './context.js'
import { expectWritable, writeOut } from './output/out-file.js'
import { useStore } from './use-stack.js'

export interface GreenButtonOptions {
  readonly client: string
  /** First and last local day. */
  readonly from: string
  readonly to: string
  /** A file; default: standard output. */
  readonly out?: string
}

/** Writes a client's usage as a Green Button feed, to a file that appears when it is complete. */
export async function greenButtonCommand(
  context: Context,
  { client, from, to, out }: GreenButtonOptions,
): Promise<number> {
  if (out !== undefined) await expectWritable(out)
  await useStore(context, 'green-button', async (store, profile) => {
    const zone = createZone(profile.timeZone)
    const feed = await greenButton(
      { store, profile, zone, now: () => new Date() },
      { clientId: client, from, to },
    )
    await (out === undefined
      ? pipeline(Readable.from(feed), process.stdout, { end: false, signal: context.ending })
      : writeOut(out, feed, context.ending))
  })
  if (out !== undefined) context.say(`wrote ${resolve(out)}`)
  return exitCodes.good
}

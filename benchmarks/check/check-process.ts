import { createReadStream } from 'node:fs'
import { parse } from 'fast-csv'
import { check } from '../../pipeline/check/check.js'
import { parseProfile } from '../../schemas/settings/profile.js'
import { peakMb } from '../memory.js'

export interface CheckRequest {
  readonly what: 'parser' | 'check'
  readonly path: string
  /** For the keys that memory does not hold. */
  readonly folder: string
  /** Keys in memory, where it is not the usual number. */
  readonly recordsMax?: number
}

export interface CheckAnswer {
  readonly rows: number
  readonly seconds: number
  readonly peakMb: number
}

const runs = {
  parser: async ({ path }) => {
    let rows = -1
    for await (const _ of createReadStream(path).pipe(parse({ headers: false }))) rows++
    return rows
  },
  check: async ({ path, folder, recordsMax }) => {
    const profile = parseProfile({ companyCodes: ['BENCH'], timeZone: 'America/Detroit' })
    const { receipt } = await check(path, {
      profile,
      folder,
      now: () => new Date(),
      ...(recordsMax !== undefined && { recordsMax }),
    })
    return receipt.rows.accepted
  },
} as const satisfies Record<CheckRequest['what'], (request: CheckRequest) => Promise<number>>

/** A process of its own, so that neither has the other's memory or compiled code. */
process.once('message', (request: CheckRequest) => {
  const from = performance.now()
  void runs[request.what](request).then((rows) => {
    const seconds = (performance.now() - from) / 1_000
    const answer: CheckAnswer = { rows, seconds, peakMb: peakMb(process.pid) ?? 0 }
    process.send?.(answer, () => process.disconnect())
  })
})

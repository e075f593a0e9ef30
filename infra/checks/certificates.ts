import { readCertificate } from '../../pipeline/tls-files.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { bad, type Check, type CheckResult, good, skipped, withProfile } from './check.js'

/** Checks the dates of the certificates that the profile names: they are used after their end too. */
export const certificateChecks: readonly Check[] = [
  {
    name: 'certificates',
    look: withProfile((profile) => judgeCertificates(profile, new Date())),
  },
]

/** A provider's old `certFiles` may stay until they have expired, so they are left out. */
const settings = ['certFile', 'clientCaFile', 'caFile']

/** The result for an instant. Files that cannot be read are reported by the check of the start. */
export function judgeCertificates(profile: Profile, now: Date): CheckResult {
  const dated = [...new Set(pathsIn(profile))].flatMap((path) => {
    const dates = datesOf(path)
    return dates === undefined ? [] : [{ path, ...dates }]
  })
  const [first] = dated.sort((one, other) => one.until.getTime() - other.until.getTime())
  if (first === undefined) return skipped('the profile names no certificate')
  const wrong = dated.flatMap(({ path, from, until }) => {
    if (until < now) return [`${path} expired at ${until.toISOString()}`]
    return from > now ? [`${path} is not valid before ${from.toISOString()}`] : []
  })
  if (wrong.length === 0) return good(`the next to expire is ${first.path}, ${dayOf(first.until)}`)
  return bad(wrong.join('\n'), 'replace the file by a valid certificate, or correct the clock')
}

function dayOf(instant: Date): string {
  return `on ${instant.toISOString().slice(0, 10)}`
}

function pathsIn(part: unknown): readonly string[] {
  if (typeof part !== 'object' || part === null) return []
  return Object.entries(part).flatMap(([name, value]) => {
    if (typeof value === 'string') return settings.includes(name) ? [value] : []
    return pathsIn(value)
  })
}

function datesOf(path: string): { readonly from: Date; readonly until: Date } | undefined {
  try {
    const { validFrom, validTo } = readCertificate(path)
    return { from: new Date(validFrom), until: new Date(validTo) }
  } catch {
    return undefined
  }
}

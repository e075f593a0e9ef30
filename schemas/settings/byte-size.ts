import { z } from 'zod'

const units: readonly string[] = ['B', 'KB', 'MB', 'GB', 'TB']
const remedy = 'write a whole number of bytes, or a size such as 64 KB or 100 GB'

/**
 * Bytes of a size as people write it: a whole number, or one with B, KB, MB, GB or TB behind it,
 * where 1 KB is 1024 B. Undefined for anything else.
 */
export function parseByteSize(size: unknown): number | undefined {
  if (typeof size === 'number') return Number.isSafeInteger(size) && size >= 0 ? size : undefined
  const match = typeof size === 'string' ? /^(\d{1,15}) ?([KMGT]?B)$/.exec(size) : null
  if (match === null) return undefined
  const bytes = Number(match[1]) * 1024 ** units.indexOf(match[2] ?? 'B')
  return Number.isSafeInteger(bytes) ? bytes : undefined
}

/** A setting in bytes between two bounds, both written as sizes, with its default. */
export function byteSize(fallback: string, range: { readonly min: string; readonly max: string }) {
  const [min, max] = [parseByteSize(range.min) ?? 0, parseByteSize(range.max) ?? 0]
  return z
    .unknown()
    .transform((size, context) => {
      const bytes = parseByteSize(size)
      if (bytes !== undefined && bytes >= min && bytes <= max) return bytes
      const message = bytes === undefined ? remedy : `use ${range.min} to ${range.max}`
      context.issues.push({ code: 'custom', message, input: size })
      return z.NEVER
    })
    .prefault(fallback)
}

import { z } from 'zod'
import { feedNames } from './feed.js'

/** What the marks in a file name pattern match, each with the name of its group. */
const marks: Readonly<Record<string, string>> = {
  CompanyCode: '(?<company>[A-Za-z0-9]{1,32})',
  DD: String.raw`(?<day>\d{2})`,
  MM: String.raw`(?<month>\d{2})`,
  YYYY: String.raw`(?<year>\d{4})`,
  Feed: '[A-Za-z]+',
  n: String.raw`(?<suffix>\d{1,9})`,
}
const dateMarks = ['DD', 'MM', 'YYYY'] as const
const known = Object.keys(marks).map((mark) => `<${mark}>`)

const fileNamePattern = z
  .strictObject({
    /** The name without `.csv` and what follows, its parts as marks. */
    like: z
      .string()
      .max(200)
      .regex(/^[A-Za-z0-9<][A-Za-z0-9<> ._-]*$/, 'use letters, digits, blanks, . _ - and marks'),
    /** What its files carry, where the name has no `<Feed>`. */
    feed: z.enum(feedNames).optional(),
  })
  .superRefine(({ like, feed }, context) => {
    const used = marksOf(like)
    const refuse = (message: string) => {
      context.addIssue({ code: 'custom', path: ['like'], message })
    }
    if (/[<>]/.test(like.replace(/<\w+>/g, '')) || used.some((mark) => !Object.hasOwn(marks, mark)))
      refuse(`the marks are ${known.join(', ')}`)
    if (new Set(used).size < used.length) refuse('use each mark once')
    if (!dateMarks.every((mark) => used.includes(mark))) refuse('use all of <DD>, <MM>, <YYYY>')
    if (used.includes('Feed') === (feed !== undefined))
      refuse('write <Feed> in the pattern, or set feed')
  })
  .readonly()

/** How a vendor's files are named where that is not the usual way; the first that fits is taken. */
export const fileNames = z.array(fileNamePattern).max(100).readonly().default([])

export interface Naming {
  /** The first is that of a name which has none. */
  readonly companyCodes: readonly string[]
  readonly fileNames: z.output<typeof fileNames>
  readonly files?: { readonly ignore: readonly string[] }
}

/**
 * The parts of a name that is like one of the profile's patterns, with its ending; `before` and `after`
 * are the text around a feed in the name.
 */
export function matchPatterns(
  name: string,
  { companyCodes, fileNames }: Naming,
): Readonly<Record<string, string | undefined>> | undefined {
  for (const { like, feed } of fileNames) {
    const [before = '', after] = like.split('<Feed>').map(toShape)
    const stem =
      after === undefined
        ? before
        : `(?<before>${before})(?<feed>${marks['Feed']})(?<after>${after})`
    const groups = new RegExp(String.raw`^${stem}(?<ending>(?:\.[a-z]+)+)$`).exec(name)?.groups
    if (groups !== undefined) return { company: companyCodes[0], feed, ...groups }
  }
  return undefined
}

/** Dates in a name whose order of day and month is certain. */
const year = String.raw`(?:19|20)\d\d`
const month = '(?:0[1-9]|1[0-2])'
const lateDay = '(?:1[3-9]|2[0-9]|3[01])'
const datesInNames = [
  [`${year}([-_.]?)${month}\\1(?:0[1-9]|${lateDay}|1[0-2])`, '<YYYY>$1<MM>$1<DD>'],
  [`${lateDay}([-_.]?)${month}\\1${year}`, '<DD>$1<MM>$1<YYYY>'],
  [`${month}([-_.]?)${lateDay}\\1${year}`, '<MM>$1<DD>$1<YYYY>'],
] as const

/** A pattern for names like this one; undefined where it has not one clear date. */
export function suggestPattern(name: string): string | undefined {
  const stem = /^([\w .-]+?)(?:\.csv|\.csv\.gz|\.csv\.zip|\.zip)$/.exec(name)?.[1]
  if (stem === undefined) return undefined
  const found = datesInNames.flatMap(([shape, like]) => {
    const date = new RegExp(String.raw`(?<!\d)${shape}(?!\d)`)
    return date.test(stem) ? [stem.replace(date, like)] : []
  })
  const [like] = found
  return found.length === 1 ? like?.replace(/(?<=>[-_.])\d{1,9}$/, '<n>') : undefined
}

function marksOf(like: string): readonly string[] {
  return Array.from(like.matchAll(/<(\w+)>/g), ([, mark = '']) => mark)
}

function toShape(like: string): string {
  return like
    .replaceAll('.', String.raw`\.`)
    .replace(/<(\w+)>/g, (_, mark: string) => marks[mark] ?? '')
}

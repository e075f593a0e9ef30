import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../../infra/package-root.js'

/** The folder of the stories, in the source tree. */
export const storyFolder = join(packageRoot(import.meta.url), 'test', 'story')

/** A chapter, or a part of one, as the comment at the top of its file introduces it. */
export interface Chapter {
  /** Path below the folder of the stories. */
  readonly path: string
  /** Chapter and part: `4.2`, or `1` where a chapter has one file. */
  readonly number: string
  readonly title: string
  /** The paragraphs What, Why and Try, without their labels. */
  readonly prose: Readonly<Record<string, string>>
}

const opening = /^\/\*\*\n \* # (\d+(?:\.\d+)?)\.? (.+)\n \*\n([\s\S]*?) \*\/\n/

/** All chapters in reading order. Throws where a file does not open with its introduction. */
export function readChapters(): readonly Chapter[] {
  const paths = readdirSync(storyFolder, { recursive: true, encoding: 'utf8' })
  const chapters = paths.filter((path) => /^\d\d-.*\.test\.ts$/.test(path)).map(readChapter)
  return chapters.sort((a, b) => orderOf(a) - orderOf(b))
}

function readChapter(path: string): Chapter {
  const found = opening.exec(readFileSync(join(storyFolder, path), 'utf8'))
  const [, number, title, body] = found ?? []
  if (number === undefined || title === undefined || body === undefined) {
    throw new Error(`${path} does not open with its number, its title, and What, Why and Try`)
  }
  const text = body.replaceAll(/^ \* ?/gm, '').trim()
  const prose = Object.fromEntries(
    text.split(/\n(?=(?:Why|Try): )/).map((paragraph) => {
      const [label = '', ...rest] = paragraph.replaceAll('\n', ' ').split(': ')
      return [label, rest.join(': ')]
    }),
  )
  return { path, number, title, prose }
}

/** Parts sort within their chapter: 4.2 after 4.1 and before 5. */
function orderOf({ number }: Chapter): number {
  const [chapter = 0, part = 0] = number.split('.').map(Number)
  return chapter * 100 + part
}

/** The contents page of the manual, test/story/README.md. */
export function renderContents(chapters: readonly Chapter[]): string {
  const lines = [
    '# The manual, as tests',
    '',
    'Each chapter runs against the real engine, Redis and servers. Read them in this order.',
    'This page is generated: `npm run build && node dist/test/story/rig/print-contents.js`.',
    '',
  ]
  for (const { path, number, title, prose } of chapters) {
    const indent = number.includes('.') ? '  ' : ''
    lines.push(`${indent}- **${number}** [${title}](${path}): ${prose['What']}`)
  }
  return `${lines.join('\n')}\n`
}

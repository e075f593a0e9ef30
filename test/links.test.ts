import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import t from 'tap'
import { packageRoot } from '../infra/package-root.js'
import { sourceFiles } from './tidy/source-files.js'

const root = packageRoot(import.meta.url)
const pages = readdirSync(root, { withFileTypes: true })
  .filter(({ name }) => !name.startsWith('.') && name !== 'node_modules' && name !== 'dist')
  .flatMap((entry) => (entry.isDirectory() ? pagesIn(join(root, entry.name)) : [entry.name]))
  .filter((path) => path.endsWith('.md'))
  .map((path) => resolve(root, path))

function pagesIn(folder: string): readonly string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return names.map((name) => join(folder, name))
}

/** A page without its code, in which nothing is a link or a heading. */
function prose(path: string): string {
  return readFileSync(path, 'utf8').replaceAll(/^```.*?^```$/gms, '')
}

/** The anchors of the headings, as they are made of their words; a second one gets a number. */
function anchorsOf(path: string): ReadonlySet<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of prose(path).matchAll(/^#{1,6} (.+)$/gm)) {
    const words = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
    const anchor = words.replaceAll(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-')
    let number = 0
    const numbered = () => (number === 0 ? anchor : `${anchor}-${number}`)
    while (anchors.has(numbered())) number += 1
    anchors.add(numbered())
  }
  return anchors
}

/** Why a link of a page leads nowhere; undefined if it leads somewhere, or out of the project. */
function judge(page: string, link: string): string | undefined {
  if (/^[a-z]+:/.test(link)) return undefined
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? page : resolve(dirname(page), decodeURIComponent(path))
  if (relative(root, target).startsWith('..')) return 'leads out of the project'
  if (!existsSync(target)) return 'is not there'
  if (anchor === undefined || anchorsOf(target).has(anchor)) return undefined
  return 'has no such heading'
}

t.test('every link of every page leads to a file and a heading that are there', async (t) => {
  const wrong = pages.flatMap((page) => {
    const text = prose(page).replaceAll(/`[^`\n]*`/g, (code) => (code.includes('](') ? '' : code))
    const links = [...text.matchAll(/\]\(([^()\s]+)\)|^\[[^\]]+\]: (\S+)/gm)]
    return links.flatMap(([, inline, referred]) => {
      const link = inline ?? referred ?? ''
      const reason = judge(page, link)
      return reason === undefined ? [] : [`${relative(root, page)}: ${link} ${reason}`]
    })
  })
  t.same(wrong, [])
  t.ok(pages.length > 10, 'the pages were found')
})

/** Names that only other packages have. */
const foreign = new Set(['getX509Certificate'])

t.test('every source file and name that a page for developers mentions is there', async (t) => {
  const words = new Set(sourceFiles.flatMap(({ text }) => text.match(/\b[a-z]\w*/g) ?? []))
  const isThere = (code: string) => {
    if (code.endsWith('.ts')) return sourceFiles.some(({ path }) => `/${path}`.endsWith(`/${code}`))
    const names = code.match(/^[a-z]+[A-Z]\w*$/) ?? []
    return names.every((name) => words.has(name) || foreign.has(name))
  }
  const wrong = pages
    .filter((page) => /(README|ARCHITECTURE)\.md$/.test(page))
    .flatMap((page) => {
      const codes = [...prose(page).matchAll(/`([\w./-]+)`/g)].map(([, code = '']) => code)
      return codes
        .filter((code) => !isThere(code))
        .map((code) => `${relative(root, page)}: ${code}`)
    })
  t.same(wrong, [])
})

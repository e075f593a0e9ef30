import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../infra/package-root.js'

/** A query of the guide. */
export interface GuideQuery {
  /** The number of its question; `5.2` for the second query of the fifth. */
  readonly number: string
  /** The title of its question, without the number. */
  readonly title: string
  readonly sql: string
}

const page = 'infra/guides/query.md'

/** The queries of the guide in their order, as they are written. Throws if a section has no number or no query. */
export function readQuestions(): readonly GuideQuery[] {
  const sections = readFileSync(join(packageRoot(import.meta.url), page), 'utf8').split(/^## /m)
  return sections.slice(1).flatMap((section) => {
    const [, number, title] = /^(\d+)\. (.+)\n/.exec(section) ?? []
    const queries = [...section.matchAll(/^```sql\n([\s\S]*?)^```$/gm)].map(([, sql = '']) => sql)
    if (number === undefined || title === undefined || queries.length === 0) {
      throw new Error(`${page}: "${section.slice(0, 60)}" needs a number, a title and a query`)
    }
    return queries.map((sql, at) => ({
      number: at === 0 ? number : `${number}.${at + 1}`,
      title,
      sql,
    }))
  })
}

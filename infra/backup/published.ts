import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { sql, typed } from '../../pipeline/store/sql.js'
import { isRepair } from '../../pipeline/verify/repaired.js'
import { keptName } from '../../schemas/file-name.js'

/** A published file, and where its bytes may be. */
export interface PublishedFile {
  readonly arrival: number
  readonly name: string
  readonly feed: string
  /** Where the source held it. */
  readonly path: string
}

/** Files that were published after an instant (ISO 8601), in the order in which their rows count; no repairs. */
export function readPublished(store: Store, since: string): Promise<readonly PublishedFile[]> {
  return store.rows<PublishedFile>({
    sql: sql`SELECT arrival, file_name AS name, toString(feed) AS feed, path FROM file_state FINAL
      WHERE status = 'published' AND published_at > parseDateTime64BestEffort(${typed('String', since)}, 3, 'UTC')
        AND NOT ${isRepair}
      ORDER BY arrival`,
  })
}

/** What is to be loaded into a restored copy, a line for each file; none if nothing is. */
export function describePublished(
  archive: string,
  files: readonly PublishedFile[],
): readonly string[] {
  if (files.length === 0) return []
  const lines = files.map(({ arrival, name, feed, path }) => {
    const kept = join(archive, keptName(arrival, name))
    return `  ${existsSync(kept) ? kept : path}${feed === 'Terminations' ? ' (terminations)' : ''}`
  })
  return [
    `! ${files.length} files were published since the backup and are not in it; load them in this order:`,
    ...lines,
  ]
}

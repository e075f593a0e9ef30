import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { keptName } from '../../schemas/file-name.js'
import { ifThere, listNames, readLocal } from '../sources/disk.js'
import type { Store } from '../store/clickhouse.js'
import { sql } from '../store/sql.js'

/** The path under which a settled file is kept. */
export function keptPath(
  folder: string,
  { arrival, fileName }: { readonly arrival: number; readonly fileName: string },
): string {
  return join(folder, keptName(arrival, fileName))
}

/** The sha256 of a file, hexadecimal. */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const bytes of readLocal(path)) hash.update(bytes)
  return hash.digest('hex')
}

export interface KeptFiles {
  readonly files: number
  /** Published files that this machine read and does not keep, although the profile keeps files of their age. */
  readonly absent: number
  /** Files whose bytes are not those that came in. */
  readonly altered: readonly { readonly arrival: number; readonly path: string }[]
}

interface Keeper {
  readonly store: Store
  readonly folders: { readonly archive: string; readonly quarantine: string }
  /** The id of the machine whose folders these are. */
  readonly machine: string
}

/** Compares the files of the archive and the quarantine of a machine with the hashes of the ledger. */
export async function verifyKeptFiles(
  { store, folders, machine }: Keeper,
  since: Date,
): Promise<KeptFiles> {
  const states = await store.rows<{
    arrival: number
    fileName: string
    fileId: string
    due: number
  }>({
    sql: sql`SELECT arrival, file_name AS fileName, file_id AS fileId,
        status = 'published' AND source != 'submit' AND settled_at > ${since}
          AND JSONExtractString(manifest, 'machine') IN ('', ${machine}) AS due
      FROM file_state FINAL WHERE settled_at IS NOT NULL AND file_id != '' ORDER BY arrival`,
  })
  const kept = new Set<string>()
  for (const folder of [folders.archive, folders.quarantine]) {
    for (const name of await listNames(folder)) kept.add(join(folder, name))
  }
  const altered: { arrival: number; path: string }[] = []
  let files = 0
  let absent = 0
  for (const { arrival, fileName, fileId, due } of states) {
    const paths = [folders.archive, folders.quarantine].map((one) => {
      return keptPath(one, { arrival, fileName })
    })
    const path = paths.find((one) => kept.has(one))
    // It may have been removed after it was listed.
    const hash = path === undefined ? undefined : await ifThere(hashFile(path))
    if (path === undefined || hash === undefined) absent += due
    else {
      files += 1
      if (hash !== fileId) altered.push({ arrival, path })
    }
  }
  return { files, absent, altered }
}

import { chunkPath, lookAtChunk } from '../files/landing.js'
import type { Ledger } from '../ledger/ledger.js'

/** Chunks of files in progress that were altered after they landed; they land again. */
export async function findAlteredChunks(
  ledger: Pick<Ledger, 'unfinished'>,
  landing: string,
): Promise<readonly { readonly arrival: number; readonly path: string }[]> {
  const { states } = await ledger.unfinished()
  const altered: { arrival: number; path: string }[] = []
  for (const { arrival, manifest } of states) {
    for (const chunk of manifest.chunks) {
      const path = chunkPath(landing, { arrival, chunk })
      if ((await lookAtChunk(path, chunk)) === 'altered') altered.push({ arrival, path })
    }
  }
  return altered
}

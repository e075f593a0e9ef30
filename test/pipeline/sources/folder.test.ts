import t from 'tap'
import { createFolder } from '../../folder.js'
import { conform } from './conformance.js'
import { placeAt } from './folder-place.js'
import { parseSource } from './settings.js'

conform(t, async (t) => {
  const path = createFolder(t)
  return {
    settings: parseSource({ kind: 'folder', name: 'inbox', path }),
    secret: () => '',
    ...placeAt(path),
  }
})

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readChapters, renderContents, storyFolder } from './contents.js'

writeFileSync(join(storyFolder, 'README.md'), renderContents(readChapters()))

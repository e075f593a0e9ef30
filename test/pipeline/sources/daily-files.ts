import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { header } from '../../story/rig/stack.js'

/** Files of a day in March 2026, with 15-minute reads of 0.5 of so many meters. */
export interface DailyFiles {
  textOf(day: number): string
  nameOf(day: number): string
  /** Writes the file into a folder under another name, and renames it; returns its name. */
  send(day: number): string
}

export function dailyFiles(folder: string, meters: number): DailyFiles {
  const textOf = (day: number) => {
    const rows = Array.from({ length: meters * 96 }, (_, index) => {
      const quarter = index % 96
      const time = `${Math.floor(quarter / 4)}:${String((quarter % 4) * 15).padStart(2, '0')}`
      return `A1,S1,M${Math.floor(index / 96)},3/${day}/2026 ${time},0.5`
    })
    return `${[header, ...rows].join('\n')}\n`
  }
  const nameOf = (day: number) => `DEMO_0${day + 1}032026_Electric.csv`
  return {
    textOf,
    nameOf,
    send: (day) => {
      const name = nameOf(day)
      const path = join(folder, name)
      writeFileSync(`${path}.part`, textOf(day))
      renameSync(`${path}.part`, path)
      return name
    },
  }
}

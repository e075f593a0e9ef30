import type { Place } from './remote-files.js'

/** Connections to one place, opened when they are needed and kept for a while. */
export interface Link {
  /** Runs something on a connection of its own; after a failure the connection is not used again. */
  use<T>(run: (place: Place) => Promise<T>): Promise<T>
  close(): Promise<void>
}

const idleMsMax = 10_000

export function createLink(connect: () => Promise<Place>): Link {
  const idle = new Map<Place, NodeJS.Timeout>()
  let isClosed = false
  const take = (): Place | undefined => {
    for (const [place, timer] of idle) {
      clearTimeout(timer)
      idle.delete(place)
      if (place.isOpen()) return place
    }
    return undefined
  }
  const keep = async (place: Place) => {
    if (isClosed || !place.isOpen()) return place.close()
    const timer = setTimeout(() => {
      idle.delete(place)
      void place.close()
    }, idleMsMax)
    idle.set(place, timer)
  }
  return {
    use: async (run) => {
      const place = take() ?? (await connect())
      try {
        const result = await run(place)
        await keep(place)
        return result
      } catch (error) {
        await place.close()
        throw error
      }
    },
    close: async () => {
      isClosed = true
      for (const timer of idle.values()) clearTimeout(timer)
      const places = [...idle.keys()]
      idle.clear()
      await Promise.all(places.map((place) => place.close()))
    },
  }
}

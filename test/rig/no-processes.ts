import { ChildProcess } from 'node:child_process'

/** Loaded before a unit test: it fails as soon as a package starts a process for it. */
Object.assign(ChildProcess.prototype, {
  spawn: () => {
    throw new Error('a unit test must not start a process')
  },
})

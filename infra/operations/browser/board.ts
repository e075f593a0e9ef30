/**
 * Bull Board takes its address as the page has it, so a relative one would fail. A proxy may serve the
 * page below any path, which only the browser knows.
 */
const base = document.querySelector('base')
base?.setAttribute('href', new URL(base.href).pathname)

export {}

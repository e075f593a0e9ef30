type Child = Node | string | number | undefined
type Attributes = Readonly<Record<string, string | number | boolean | undefined>>

/** An element; strings become text nodes, never markup. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(name, String(value))
  }
  element.append(...children.filter((child) => child !== undefined).map(toNode))
  return element
}

function toNode(child: Node | string | number): Node | string {
  return typeof child === 'number' ? String(child) : child
}

/** A bar of a share of its container; hidden from screen readers, which read the value in text. */
export function bar(share: number, kind: 'good' | 'warn' | 'bad' = 'good'): HTMLElement {
  const filled = el('span', { class: `fill ${kind}` })
  filled.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`
  return el('span', { class: 'bar', 'aria-hidden': 'true' }, filled)
}

/** The state of a file or a source, as a word with a colour. */
export function badge(state: string): HTMLElement {
  return el('span', { class: `badge ${kinds[state] ?? 'plain'}` }, state)
}

const kinds: Readonly<Record<string, string>> = {
  published: 'good',
  polled: 'good',
  quarantined: 'bad',
  failing: 'bad',
  late: 'bad',
  waiting: 'warn',
  paused: 'warn',
}

/** Text that does not wrap. */
export function oneLine(text: string): HTMLElement {
  return el('span', { class: 'whole' }, text)
}

/** The text of an empty panel. */
export function nothing(text: string): readonly Node[] {
  return [el('p', { class: 'nothing' }, text)]
}

export function find<T extends HTMLElement>(selector: string): T {
  const found = document.querySelector<T>(selector)
  if (found === null) throw new TypeError(`the page has no ${selector}`)
  return found
}

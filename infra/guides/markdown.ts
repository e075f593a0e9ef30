/** A Markdown table with columns of equal width and escaped cells. */
export function renderMarkdownTable(
  titles: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const lines = [titles, ...rows].map((cells) => cells.map(inCell))
  const widths = titles.map((_, at) => Math.max(3, ...lines.map((cells) => cells[at]?.length ?? 0)))
  const [head = [], ...body] = lines
  const rule = widths.map((width) => '-'.repeat(width))
  return [head, rule, ...body]
    .map((cells) => `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`)
    .join('\n')
}

/** A fenced code block. */
export function fence(text: string, language = ''): string {
  return `\`\`\`${language}\n${text}\n\`\`\``
}

function inCell(text: string): string {
  return text.replaceAll(/[|<]/g, '\\$&')
}

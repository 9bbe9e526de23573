import { queryTable, type ParserHooks, type QueryRow } from './queries'

/**
 * Takes every query out of the output before xterm answers it. The holder is the one answerer (DESIGN §1.4); a viewer's
 * answer would be typed into the program, once per viewer. Handlers come from the table that Go reads too.
 */
export function swallowQueries(parser: ParserHooks, table: readonly QueryRow[] = queryTable): void {
  const seen = new Set<string>()
  for (const row of table) {
    const key = [row.class, row.prefix, row.intermediates, row.final, row.osc].join(' ')
    if (!seen.has(key)) register(parser, row)
    seen.add(key)
  }
}

function register(parser: ParserHooks, { class: kind, prefix, intermediates, final, osc }: QueryRow): void {
  const id = {
    final,
    ...(prefix === '' ? {} : { prefix }),
    ...(intermediates === '' ? {} : { intermediates }),
  }
  switch (kind) {
    case 'csi':
      // With every parameter, also those that do not ask: xterm does nothing else of use with these.
      parser.registerCsiHandler(id, () => true)
      return
    case 'dcs':
      parser.registerDcsHandler(id, () => true)
      return
    case 'esc':
      parser.registerEscHandler(id, () => true)
      return
    case 'osc':
      // The same number sets a value and asks for it; a question mark in the place of a value asks.
      if (osc !== null) parser.registerOscHandler(osc, (data) => data.split(';').includes('?'))
      return
    default: // xterm answers no other kind; the test says so for every row
  }
}

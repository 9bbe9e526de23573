import { onScopeDispose } from 'vue'

/** The name under which styles know what was found. */
const name = 'found'

/**
 * Marks a piece of a text without touching the text: selecting and copying go on as if nothing were there. Browsers that
 * cannot mark select it instead.
 */
export function useHighlight() {
  const highlights = typeof CSS === 'undefined' ? undefined : CSS.highlights

  function clear() {
    highlights?.delete(name)
  }

  /** Marks characters start to end of node and brings them into the middle of what scrolls. */
  function show(node: Text, { start, end }: { start: number; end: number }, scroller: HTMLElement) {
    const range = document.createRange()
    range.setStart(node, Math.min(start, node.length))
    range.setEnd(node, Math.min(end, node.length))
    if (highlights) highlights.set(name, new Highlight(range))
    else {
      const selection = document.getSelection()
      selection?.removeAllRanges()
      selection?.addRange(range)
    }
    const at = range.getBoundingClientRect()
    const view = scroller.getBoundingClientRect()
    scroller.scrollTop += at.top + at.height / 2 - (view.top + view.height / 2)
  }

  onScopeDispose(clear)
  return { show, clear }
}

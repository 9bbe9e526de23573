import { inputKind, inputStatus } from '@/wire'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { InputQueue, textBytes, type ReturnedInput } from './inputQueue'

interface Sent {
  client: string
  seq: number
  kind: number
  age: number
  text: string
}

function setup() {
  let time = 0
  let clients = 0
  const sent: Sent[] = []
  const retired: string[] = []
  const returned: ReturnedInput[] = []
  const applied: number[] = []
  const queue = new InputQueue({
    now: () => time,
    newClient: () => `client-${++clients}`,
    send: ({ data, ...rest }) => sent.push({ ...rest, text: new TextDecoder().decode(data) }),
    retire: (client) => retired.push(client),
    changed: () => undefined,
    returned: (back) => returned.push(back),
    applied: (id) => applied.push(id),
  })
  return {
    queue,
    sent,
    retired,
    returned,
    applied,
    type: (text: string) => queue.add(inputKind.bytes, textBytes(text)),
    pass(ms: number) {
      time += ms
      vi.advanceTimersByTime(ms)
    },
  }
}

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

describe('InputQueue/connected', () => {
  it('numbers input from 1 and forgets what was applied', () => {
    const { queue, sent, applied, type } = setup()
    queue.opened('')
    const ids = [type('a'), type('b'), type('c')]
    expect(sent.map(({ client, seq }) => [client, seq])).toEqual([
      ['client-1', 1],
      ['client-1', 2],
      ['client-1', 3],
    ])
    queue.acked('client-1', 2, inputStatus.applied)
    expect(applied).toEqual(ids.slice(0, 2))
    expect(queue.pending.map(({ id, state }) => [id, state])).toEqual([[ids[2], 'sent']])
    expect(queue.applied).toBe(2)
    queue.acked('client-1', 3, inputStatus.applied)
    expect(queue.idle).toBe(true)
  })

  it('does not take answers for a client of somebody else', () => {
    const { queue, type } = setup()
    queue.opened('')
    type('a')
    expect(queue.acked('client-9', 1, inputStatus.applied)).toBe(false)
    expect(queue.pending).toHaveLength(1)
  })

  for (const [status, reason] of [
    [inputStatus.late, 'late'],
    [inputStatus.blocked, 'blocked'],
    [inputStatus.ended, 'ended'],
    [inputStatus.forbidden, 'forbidden'],
    [inputStatus.invalid, 'invalid'],
    [42, 'refused'],
  ] as const) {
    it(`hands back what was refused with status ${status} and goes on with a fresh id`, () => {
      const { queue, sent, retired, returned, type } = setup()
      queue.opened('')
      type('ls')
      queue.acked('client-1', 1, status)
      expect(returned).toMatchObject([{ text: 'ls', reason }])
      expect(retired).toEqual(['client-1'])
      type('x')
      expect(sent.at(-1)).toMatchObject({ client: 'client-2', seq: 1, text: 'x' })
    })
  }

  it('waits for the last word where one input was refused and a later one is open', () => {
    const { queue, sent, retired, returned, type } = setup()
    queue.opened('')
    type('a')
    type('b')
    queue.acked('client-1', 1, inputStatus.late)
    expect(retired).toEqual(['client-1'])
    expect(returned).toEqual([])
    queue.acked('client-1', 0, inputStatus.retired)
    expect(returned).toMatchObject([{ text: 'ab', reason: 'late' }])
    type('c')
    expect(sent.at(-1)).toMatchObject({ client: 'client-2', seq: 1 })
  })

  it('hands back what is typed behind a failure, so that it does not overtake', () => {
    const { queue, sent, returned, type } = setup()
    queue.opened('')
    type('a')
    type('b')
    queue.acked('client-1', 1, inputStatus.blocked)
    const before = sent.length
    type('c')
    expect(sent).toHaveLength(before)
    expect(returned).toMatchObject([{ text: 'c', reason: 'blocked' }])
  })

  it('fills a gap once a moment, unless what is missing is not here', () => {
    const { queue, sent, retired, applied, type, pass } = setup()
    queue.opened('')
    const first = type('a')
    type('b')
    type('c')
    sent.length = 0
    queue.acked('client-1', 1, inputStatus.gap)
    expect(applied).toEqual([first])
    expect(sent.map(({ seq }) => seq)).toEqual([2, 3])
    queue.acked('client-1', 1, inputStatus.gap)
    expect(sent).toHaveLength(2)
    pass(250)
    queue.acked('client-1', 1, inputStatus.gap)
    expect(sent).toHaveLength(4)
    queue.acked('client-1', 0, inputStatus.gap)
    expect(retired).toEqual(['client-1'])
  })

  it('sends the first input again when the holder does not know its client', () => {
    const { queue, sent, retired, type } = setup()
    queue.opened('')
    type('a')
    type('b')
    queue.acked('client-1', 2, inputStatus.unknownClient)
    expect(sent.map(({ seq }) => seq)).toEqual([1, 2, 1, 2])
    queue.acked('client-1', 1, inputStatus.applied)
    queue.acked('client-1', 2, inputStatus.unknownClient)
    expect(retired).toEqual(['client-1'])
  })

  it('repeats what nobody answered, ever less often, and never after ten seconds', () => {
    const { queue, sent, retired, type, pass } = setup()
    queue.opened('')
    type('a')
    for (let second = 0; second < 9; second++) pass(1000)
    expect(sent.map(({ age }) => age)).toEqual([0, 1000, 3000, 7000])
    pass(1000)
    expect(sent).toHaveLength(4)
    expect(retired).toEqual(['client-1'])
  })

  it('tries a host that is away for a moment again, and hands back what it was never given', () => {
    const { queue, sent, returned, type, pass } = setup()
    queue.opened('')
    type('a')
    queue.acked('client-1', 1, inputStatus.hostOffline)
    expect(returned).toEqual([])
    queue.hostBack()
    expect(sent.map(({ seq }) => seq)).toEqual([1, 1])
    queue.acked('client-1', 1, inputStatus.applied)
    expect(queue.idle).toBe(true)

    type('b')
    queue.acked('client-1', 2, inputStatus.hostOffline)
    for (let second = 0; second < 10; second++) {
      pass(1000)
      const again = sent.filter(({ seq }) => seq === 2).length
      for (let i = 1; i < again; i++) queue.acked('client-1', 2, inputStatus.hostOffline)
    }
    expect(returned).toMatchObject([{ text: 'b', reason: 'host_offline' }])
  })

  it('refuses what is too long, and more than may wait', () => {
    const { queue, returned, type } = setup()
    queue.opened('')
    type('x'.repeat((256 << 10) + 1))
    expect(returned).toMatchObject([{ reason: 'too_large' }])
    for (let i = 0; i < 512; i++) type('y')
    type('z')
    expect(returned.at(-1)).toMatchObject({ text: 'z', reason: 'blocked' })
  })
})

describe('InputQueue/reconnecting', () => {
  it('sends again, unchanged, what is young and of the same dialog', () => {
    const { queue, sent, pass, type } = setup()
    queue.opened('dialog-1')
    type('a')
    type('b')
    queue.acked('client-1', 1, inputStatus.applied)
    queue.closed()
    pass(4000)
    type('c')
    expect(queue.pending.map(({ state }) => state)).toEqual(['sent', 'waiting'])
    pass(3000)
    sent.length = 0
    queue.opened('dialog-1')
    expect(sent).toEqual([
      { client: 'client-1', seq: 2, kind: inputKind.bytes, age: 7000, text: 'b' },
      { client: 'client-1', seq: 3, kind: inputKind.bytes, age: 3000, text: 'c' },
    ])
  })

  it('asks the holder when the dialog is another one, and hands back what it did not apply', () => {
    const { queue, sent, retired, returned, applied, pass, type } = setup()
    queue.opened('dialog-1')
    const first = type('1')
    type('2')
    queue.closed()
    pass(1000)
    sent.length = 0
    queue.opened('dialog-2')
    expect(sent).toEqual([])
    expect(retired).toEqual(['client-1'])
    queue.acked('client-1', 1, inputStatus.retired)
    expect(applied).toEqual([first])
    expect(returned).toMatchObject([{ text: '2', reason: 'changed' }])
  })

  it('never sends again after ten seconds', () => {
    const { queue, sent, retired, returned, pass, type } = setup()
    queue.opened('')
    type('a')
    queue.closed()
    pass(10_000)
    sent.length = 0
    queue.opened('')
    expect(sent).toEqual([])
    expect(retired).toEqual(['client-1'])
    expect(returned).toEqual([])
    queue.acked('client-1', 0, inputStatus.retired)
    expect(returned).toMatchObject([{ text: 'a', reason: 'late' }])
  })

  it('hands back by itself what was never sent, once it is ten seconds old', () => {
    const { queue, sent, returned, pass, type } = setup()
    queue.opened('')
    queue.closed()
    pass(2000)
    type('hello')
    pass(9_999)
    expect(returned).toEqual([])
    pass(1)
    expect(returned).toMatchObject([{ text: 'hello', reason: 'offline' }])
    expect(queue.idle).toBe(true)
    queue.opened('')
    expect(sent).toEqual([])
  })

  it('hands back at once what is typed when the connection has been gone for ten seconds', () => {
    const { queue, sent, returned, pass, type } = setup()
    queue.opened('')
    queue.closed()
    pass(10_000)
    type('late')
    expect(returned).toMatchObject([{ text: 'late', reason: 'offline' }])
    queue.opened('')
    expect(sent).toEqual([])
  })

  it('keeps asking until the answer comes, and lets fresh input through once the old is out of date', () => {
    const { queue, sent, retired, pass, type } = setup()
    queue.opened('')
    type('a')
    queue.closed()
    pass(10_000)
    queue.opened('')
    queue.closed()
    queue.opened('')
    queue.hostBack()
    expect(retired).toEqual(['client-1', 'client-1', 'client-1'])
    type('b')
    expect(sent.at(-1)).toMatchObject({ client: 'client-2', seq: 1, text: 'b' })
    expect(queue.pending.map(({ state }) => state)).toEqual(['unconfirmed', 'sent'])
    queue.acked('client-1', 1, inputStatus.retired)
    expect(queue.pending.map(({ state }) => state)).toEqual(['sent'])
  })

  it('says at the end what it cannot know', () => {
    const { queue, retired, returned, type } = setup()
    queue.opened('')
    type('a')
    queue.dispose()
    expect(retired).toEqual(['client-1'])
    expect(returned).toMatchObject([{ text: 'a', reason: 'unconfirmed' }])
  })
})

describe('InputQueue/every schedule', () => {
  /** A holder as the protocol describes it, behind a wire that loses everything sent while it is cut. */
  it('neither doubles nor loses nor reorders, whatever is cut when', () => {
    let seed = 11
    const random = (below: number) => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % below
    for (let round = 0; round < 300; round++) {
      let time = 0
      let clients = 0
      let up = false
      let written = ''
      const holder = new Map<string, { applied: number; retired: boolean }>()
      const toHolder: (() => void)[] = []
      const toViewer: (() => void)[] = []
      const returned: number[] = []
      const applied: number[] = []
      const answer = (client: string, seq: number, status: number) => {
        toViewer.push(() => void queue.acked(client, seq, status))
      }
      const queue = new InputQueue({
        now: () => time,
        newClient: () => `c${++clients}`,
        send: ({ client, seq, age, data }) =>
          toHolder.push(() => {
            const known = holder.get(client) ?? { applied: 0, retired: false }
            if (known.retired) return answer(client, known.applied, inputStatus.retired)
            if (seq <= known.applied) return answer(client, seq, inputStatus.applied)
            if (age >= 10_000) return answer(client, seq, inputStatus.late)
            if (!holder.has(client) && seq > 1) return answer(client, seq, inputStatus.unknownClient)
            if (seq > known.applied + 1) return answer(client, known.applied, inputStatus.gap)
            holder.set(client, { applied: seq, retired: false })
            written += `${new TextDecoder().decode(data)} `
            answer(client, seq, inputStatus.applied)
          }),
        retire: (client) =>
          toHolder.push(() => {
            const known = holder.get(client) ?? { applied: 0, retired: false }
            holder.set(client, { ...known, retired: true })
            answer(client, known.applied, inputStatus.retired)
          }),
        changed: () => undefined,
        returned: (back) => returned.push(...back.inputs.map((input) => input.id)),
        applied: (id) => applied.push(id),
      })
      const deliver = (queueOf: (() => void)[]) => queueOf.shift()?.()
      let typed = 0
      for (let step = 0; step < 120; step++) {
        switch (random(8)) {
          case 0:
            if (up) {
              queue.closed()
              // What is on the wire may or may not still get through to the holder; answers are lost.
              while (toHolder.length > 0 && random(3) > 0) deliver(toHolder)
              toHolder.length = toViewer.length = 0
              up = false
            } else {
              up = true
              queue.opened(random(10) === 0 ? 'other' : '')
            }
            break
          case 1:
          case 2:
            typed++
            queue.add(inputKind.bytes, textBytes(String(typed)))
            break
          case 3:
          case 4:
            deliver(toHolder)
            break
          case 5:
          case 6:
            deliver(toViewer)
            break
          default: {
            const ms = random(4) === 0 ? 6000 : 300
            time += ms
            vi.advanceTimersByTime(ms)
          }
        }
      }
      if (!up) queue.opened('')
      while (toHolder.length + toViewer.length > 0) {
        deliver(toHolder)
        deliver(toViewer)
      }
      const numbers = written.trim().split(' ').filter(Boolean).map(Number)
      expect(new Set(numbers).size, `round ${round}: doubled`).toBe(numbers.length)
      expect(numbers, `round ${round}: order`).toEqual([...numbers].sort((a, b) => a - b))
      expect(
        [...applied].sort((a, b) => a - b),
        `round ${round}: applied`,
      ).toEqual(numbers)
      const all = [...applied, ...returned].sort((a, b) => a - b)
      expect(all, `round ${round}: ledger`).toEqual(Array.from({ length: typed }, (_, i) => i + 1))
      queue.dispose()
    }
  })
})

describe('InputQueue/after a reload', () => {
  function reloaded() {
    const before = setup()
    before.queue.opened('p')
    before.type('a')
    before.type('b')
    before.queue.closed()
    before.type('c')
    const { kept } = before.queue
    before.queue.dispose()
    const after = setup()
    return { kept, ...after }
  }

  it('retires the old id before anything else is sent, and its answer decides', () => {
    const { queue, kept, retired, returned, sent, applied, type } = reloaded()
    const old = kept[0]?.client ?? ''
    expect(kept[0]?.inputs.map(({ seq, lost }) => [seq, lost])).toEqual([
      [1, false],
      [2, false],
      [3, true],
    ])
    queue.adopt(kept.map((batch) => ({ ...batch, client: 'old' })))
    expect(queue.pending.map(({ state }) => state)).toEqual(['unconfirmed', 'unconfirmed', 'unconfirmed'])
    // What is typed on the new page is not typed behind it.
    type('new')
    expect([retired, sent, returned, old]).toEqual([[], [], [], 'client-1'])
    queue.opened('')
    expect([retired, sent.map(({ text }) => text)]).toEqual([['old'], ['new']])
    queue.acked('old', 1, inputStatus.retired)
    expect(applied).toHaveLength(1)
    expect(returned.map(({ text, reason }) => [text, reason])).toEqual([['bc', 'page_closed']])
    expect(queue.idle).toBe(false)
  })

  it('asks at once on an open attachment', () => {
    const { queue, kept, retired } = reloaded()
    queue.opened('')
    queue.adopt([{ ...kept[0]!, client: 'old' }])
    expect(retired).toEqual(['old'])
  })

  it('asks nobody about what was never sent', () => {
    const { queue, kept, retired, returned } = reloaded()
    queue.opened('')
    queue.adopt([{ client: 'old', reason: null, inputs: kept[0]!.inputs.slice(2) }])
    expect(retired).toEqual([])
    expect(returned.map(({ text, reason }) => [text, reason])).toEqual([['c', 'page_closed']])
  })

  it('gives back what nobody can tell any more, because the program is gone', () => {
    const { queue, kept, returned } = reloaded()
    queue.opened('')
    queue.adopt([{ ...kept[0]!, client: 'old' }])
    queue.acked('old', 0, inputStatus.ended)
    expect(returned.map(({ text, reason }) => [text, reason])).toEqual([['abc', 'unconfirmed']])
    expect(queue.idle).toBe(true)
  })

  it('goes on asking when the page ends again', () => {
    const { queue, kept } = reloaded()
    queue.adopt([{ ...kept[0]!, client: 'old' }])
    expect(queue.kept).toMatchObject([{ client: 'old', reason: 'page_closed' }])
  })
})

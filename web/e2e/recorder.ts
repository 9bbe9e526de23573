import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, patience, type Stack } from './stack'

/** A session whose program notes what it is typed, byte by byte. */
export class Recorder {
  private constructor(
    readonly id: string,
    private readonly file: string,
  ) {}

  /** Starts one. It prints the first of prints at once, then "recording", and the next for every G. */
  static async start(stack: Stack, name: string, ...prints: string[]): Promise<Recorder> {
    const file = path.join(stack.dir, `${name}.typed`)
    await writeFile(file, '')
    const program = path.resolve(import.meta.dirname, 'programs/recorder.mjs')
    const texts = [`${prints[0] ?? ''}recording`, ...prints.slice(1)]
    const id = await stack.session(name, process.execPath, program, file, JSON.stringify(texts))
    const recorder = new Recorder(id, file)
    await stack.eventually('the recorder runs', async () => (await stack.screen(id)).includes('recording'))
    return recorder
  }

  /** Everything typed so far. */
  text(): Promise<string> {
    return readFile(this.file, 'utf8')
  }

  /** Waits until exactly this was typed since the recorder began. */
  async typed(text: string | RegExp): Promise<void> {
    const now = expect.poll(() => this.text(), { timeout: patience })
    await (typeof text === 'string' ? now.toBe(text) : now.toMatch(text))
  }
}

import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { test as base, type Page } from '@playwright/test'

const run = promisify(execFile)
const root = path.resolve(import.meta.dirname, '../..')
const helm = path.join(root, 'bin/agent-helm')
const server = path.join(root, 'bin/agent-helm-server')

/** How long a test waits for something that must happen. */
export const patience = 30_000

/** A TCP relay between browser and server that can be cut, refused and slowed. */
export class Proxy {
  private readonly sockets = new Set<net.Socket>()
  private refusing = false
  private rate = 0
  private target = 0

  private constructor(private readonly listener: net.Server) {}

  static async open(): Promise<Proxy> {
    const listener = net.createServer({ allowHalfOpen: false })
    const proxy = new Proxy(listener)
    listener.on('connection', (client) => proxy.relay(client))
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  get port(): number {
    return (this.listener.address() as net.AddressInfo).port
  }

  setTarget(port: number): void {
    this.target = port
  }

  /** Resets every open connection. */
  cut(): void {
    for (const socket of this.sockets) socket.resetAndDestroy()
  }

  /** Makes new connections fail, or work again. */
  refuse(refusing: boolean): void {
    this.refusing = refusing
  }

  /** Bounds the bytes per second towards the browser; 0 lifts the bound. */
  throttle(bytesPerSecond: number): void {
    this.rate = bytesPerSecond
  }

  async close(): Promise<void> {
    this.cut()
    await new Promise<void>((resolve) => this.listener.close(() => resolve()))
  }

  private relay(client: net.Socket): void {
    if (this.refusing || this.target === 0) {
      client.resetAndDestroy()
      return
    }
    const upstream = net.connect(this.target, '127.0.0.1')
    for (const socket of [client, upstream]) {
      this.sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        this.sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.pipe(upstream)
    upstream.on('data', (chunk: Buffer) => {
      client.write(chunk)
      if (this.rate === 0) return
      upstream.pause()
      setTimeout(() => upstream.resume(), (chunk.length / this.rate) * 1000)
    })
  }
}

/** One installation: server, daemon, sessions, all below a temporary directory. */
export class Stack {
  private readonly processes: ChildProcess[] = []
  hostId = ''

  private constructor(
    readonly dir: string,
    /** The browser's way to the server. */
    readonly network: Proxy,
    private readonly env: NodeJS.ProcessEnv,
    private readonly name: string,
    private address: string,
  ) {}

  /** What the browser has in its address bar. */
  get origin(): string {
    return `http://${this.name}:${this.network.port}`
  }

  /**
   * Starts everything. Under a name that is not loopback the origin is plain HTTP to the browser, as on a LAN: no secure
   * context. The browser of the configuration resolves helm.lan to this machine.
   */
  static async start(name: '127.0.0.1' | 'helm.lan' = '127.0.0.1'): Promise<Stack> {
    const dir = await mkdtemp(path.join(tmpdir(), 'helm'))
    const env = {
      ...process.env,
      AGENT_HELM_CONFIG_DIR: path.join(dir, 'config'),
      AGENT_HELM_STATE_DIR: path.join(dir, 'state'),
    }
    const network = await Proxy.open()
    const stack = new Stack(dir, network, env, name, '')
    await stack.startServer('127.0.0.1:0')
    network.setTarget(Number(new URL(stack.address).port))
    const { stdout } = await run(server, ['pair', '--data', stack.data, '--host'], { env })
    const code = stdout.split('\n')[0]!.trim()
    await run(helm, ['pair', stack.address, code, '--yes', '--name', 'e2e-host'], { env })
    stack.launch(helm, ['daemon'])
    await stack.eventually('the daemon is connected', async () => {
      const hosts = (await stack.api('GET', '/api/hosts')) as { items: { id: string; online: boolean }[] }
      stack.hostId = hosts.items[0]?.id ?? ''
      return hosts.items[0]?.online === true
    })
    return stack
  }

  private get data(): string {
    return path.join(this.dir, 'server')
  }

  private token: Promise<string> | undefined

  /** Calls the API as an administrator would from a script. */
  async api(method: string, resource: string, body?: unknown): Promise<unknown> {
    this.token ??= run(
      server,
      ['token', 'create', '--data', this.data, '--name', 'e2e', '--scope', 'admin'],
      { env: this.env },
    ).then(({ stdout }) => stdout.trim())
    const response = await fetch(this.address + resource, {
      method,
      headers: {
        Authorization: `Bearer ${await this.token}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${resource}: ${response.status} ${text}`)
    return response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text
  }

  async startServer(listen: string): Promise<void> {
    const file = path.join(this.dir, 'address')
    await rm(file, { force: true })
    const process = this.launch(server, [
      'serve',
      ...['--data', this.data],
      ...['--listen', listen],
      ...['--public-url', this.origin],
      ...['--address-file', file],
      ...(this.name === '127.0.0.1' ? [] : ['--insecure-lan']),
    ])
    await this.eventually('the server answers', async () => {
      if (process.exitCode !== null) throw new Error('the server ended')
      this.address = (await readFile(file, 'utf8')).trim()
      return (await fetch(`${this.address}/api/health`)).ok
    })
  }

  /** Ends the server as kill -9 does, and starts it again on the same port. */
  async restartServer(): Promise<void> {
    const process = this.processes[0]!
    const gone = new Promise((resolve) => process.once('exit', resolve))
    process.kill('SIGKILL')
    await gone
    this.processes.shift()
    await this.startServer(new URL(this.address).host)
    this.processes.unshift(this.processes.pop()!)
  }

  /** Stops the daemon as a host that sleeps does, or lets it go on. */
  freezeDaemon(frozen: boolean): void {
    this.processes[1]?.kill(frozen ? 'SIGSTOP' : 'SIGCONT')
  }

  private launch(program: string, args: string[]): ChildProcess {
    const child = spawn(program, args, { env: this.env, stdio: ['ignore', 'ignore', 'inherit'] })
    this.processes.push(child)
    return child
  }

  /** Starts a session and returns its id. */
  async session(name: string, ...argv: string[]): Promise<string> {
    const { stdout } = await run(helm, ['run', '--detach', '--json', '--name', name, '--', ...argv], {
      env: this.env,
    })
    const { id } = JSON.parse(stdout) as { id: string }
    await this.eventually(`the server lists ${name}`, async () => {
      await this.api('GET', `/api/sessions/${id}`)
      return true
    })
    return id
  }

  /** Runs the host's command line. */
  async helm(...args: string[]): Promise<string> {
    return (await run(helm, args, { env: this.env })).stdout
  }

  /** The argv and environment for a helm command in a terminal of the test's own. */
  command(...args: string[]): { argv: string[]; env: NodeJS.ProcessEnv } {
    return { argv: [helm, ...args], env: this.env }
  }

  /** A fresh link with a single-use ticket. */
  async link(): Promise<string> {
    const { stdout } = await run(server, ['link', '--data', this.data], { env: this.env })
    const match = /https?:\S+/.exec(stdout)
    if (!match) throw new Error(`link printed ${stdout}`)
    return match[0]
  }

  /** Opens the app on a page that was not signed in. */
  async signIn(page: Page): Promise<void> {
    await page.goto(await this.link())
    await page.getByRole('heading', { name: 'Sessions' }).waitFor({ timeout: patience })
  }

  /** The session's screen as the server has it. */
  async screen(id: string): Promise<string> {
    return (await this.api('GET', `/api/sessions/${id}/screen?format=text`)) as string
  }

  async eventually(what: string, check: () => Promise<boolean>): Promise<void> {
    const deadline = Date.now() + patience
    let last: unknown
    for (;;) {
      try {
        if (await check()) return
        last = undefined
      } catch (error) {
        last = error
      }
      if (Date.now() > deadline) throw new Error(`not in time: ${what}`, { cause: last })
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  async stop(): Promise<void> {
    const listed = JSON.parse(await this.helm('ls', '--json')) as { id: string; state: string }[]
    const running = listed.filter((session) => session.state === 'running')
    if (running.length > 0) await this.helm('kill', ...running.map((session) => session.id))
    for (const child of this.processes.toReversed()) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      const gone = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      await gone
    }
    await this.network.close()
    await rm(this.dir, { recursive: true, force: true })
  }
}

/** Tests get a stack of their worker's own, and fail on any violation of the content security policy. */
export const test = base.extend<{ policy: undefined }, { stack: Stack }>({
  stack: [
    async ({}, use) => {
      const stack = await Stack.start()
      await use(stack)
      await stack.stop()
    },
    { scope: 'worker', timeout: 120_000 },
  ],
  policy: [
    async ({ browser }, use) => {
      const violations: string[] = []
      const open = browser.newContext.bind(browser)
      // Tests open contexts of their own, a phone and a desk; every one of them is watched.
      browser.newContext = async (options) => {
        const context = await open(options)
        await context.exposeFunction('reportViolation', (text: string) => violations.push(text))
        await context.addInitScript(() => {
          document.addEventListener('securitypolicyviolation', (event) => {
            const report = (globalThis as unknown as { reportViolation(text: string): void }).reportViolation
            report(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`)
          })
        })
        return context
      }
      await use(undefined)
      browser.newContext = open
      if (violations.length > 0) throw new Error(`content security policy: ${violations.join('; ')}`)
    },
    { auto: true },
  ],
})

export { expect } from '@playwright/test'

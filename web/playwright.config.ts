import { existsSync } from 'node:fs'
import { defineConfig } from '@playwright/test'

/** The real server of the `real` project is started by this file; without it only `ui` can run. */
const realSetup = './e2e/global-setup.ts'
const mockOrigin = 'http://127.0.0.1:4178'

export default defineConfig({
  testDir: 'e2e',
  outputDir: process.env.AGENT_HELM_TEST_RESULTS ?? 'test-results',
  fullyParallel: true,
  workers: 2,
  reporter: process.env.CI ? [['list'], ['html', { open: 'never' }]] : 'list',
  ...(existsSync(realSetup) && !process.env.AGENT_HELM_UI_ONLY ? { globalSetup: realSetup } : {}),
  use: {
    locale: 'en-GB',
    timezoneId: 'UTC',
    trace: 'retain-on-failure',
    launchOptions: {
      executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        // A name that is not loopback, for what plain HTTP on a LAN lacks.
        '--host-resolver-rules=MAP helm.lan 127.0.0.1',
      ],
    },
  },
  projects: [
    { name: 'ui', testDir: 'e2e/ui', use: { baseURL: mockOrigin } },
    { name: 'real', testDir: 'e2e', testIgnore: 'ui/**' },
  ],
  webServer: {
    command: 'npm run preview:mock',
    url: mockOrigin,
    reuseExistingServer: !process.env.CI,
    timeout: 180_000,
  },
})

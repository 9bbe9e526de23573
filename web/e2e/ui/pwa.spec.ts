import { drawn, expect, phone, test } from './app'

test.use({ ...phone, colorScheme: 'dark' })

test('the policy lets the terminal have its colours', async ({ page }) => {
  await page.goto('/s/mac-mini/refactor-auth')
  await drawn(page, 'accept edits on')
  await page.evaluate(() =>
    window.mock.print('refactor-auth', '\r\n\x1b[31mred\x1b[0m \x1b[38;2;10;200;30mtrue\x1b[0m'),
  )
  const colourOf = (text: string) =>
    page
      .locator('.xterm-rows span', { hasText: text })
      .last()
      .evaluate((cell) => getComputedStyle(cell).color)
  await expect(page.locator('.xterm-rows')).toContainText('true')
  expect(await colourOf('red')).toBe('rgb(255, 125, 125)')
  expect(await colourOf('true')).toBe('rgb(10, 200, 30)')
})

test('without a network the shell opens with the list as it was, and says how old it is', async ({
  page,
  context,
}) => {
  await page.goto('/')
  await expect(page.getByText('refactor-auth')).toBeVisible()
  await page.evaluate(() => navigator.serviceWorker.ready)
  await expect.poll(() => page.evaluate(() => navigator.serviceWorker.controller !== null)).toBe(true)
  await expect
    .poll(() => page.evaluate(() => localStorage.getItem('agent-helm.sessions') !== null))
    .toBe(true)

  await context.setOffline(true)
  await page.evaluate(() => sessionStorage.setItem('mock.scene', 'unreachable'))
  await page.reload()
  await expect(page.getByText('refactor-auth')).toBeVisible()
  await expect(page.getByText(/list is .* old/)).toBeVisible()
  await page.goto('/settings')
  await expect(page.getByRole('heading', { name: 'Settings' })).toBeVisible()
})

test('the worker keeps no answer of the server', async ({ page }) => {
  await page.goto('/')
  await page.evaluate(() => navigator.serviceWorker.ready)
  const cached = await page.evaluate(async () => {
    const names = await caches.keys()
    const urls = await Promise.all(
      names.map(async (name) => (await (await caches.open(name)).keys()).map(({ url }) => url)),
    )
    return urls.flat()
  })
  expect(cached.some((url) => /\/assets\/terminal-.*\.js/.test(url))).toBe(true)
  expect(cached.filter((url) => /\/api\/|version\.json|placeholder/.test(url))).toEqual([])
})

test('the manifest names separate icons that exist', async ({ page, request }) => {
  await page.goto('/')
  const href = await page.locator('link[rel="manifest"]').getAttribute('href')
  const manifest = await (await request.get(href!)).json()
  expect(manifest).toMatchObject({ id: '/', start_url: '/?src=pwa', scope: '/', display: 'standalone' })
  expect(manifest).not.toHaveProperty('orientation')
  const purposes = manifest.icons.map(
    (icon: { purpose: string; sizes: string }) => `${icon.purpose} ${icon.sizes}`,
  )
  expect(purposes).toEqual(['any 192x192', 'any 512x512', 'maskable 192x192', 'maskable 512x512'])
  for (const { src } of [...manifest.icons, ...manifest.screenshots]) {
    expect((await request.get(src)).headers()['content-type'], src).toBe('image/png')
  }
})

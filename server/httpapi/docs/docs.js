// Draws /api/openapi.json. Everything is text nodes: no HTML is ever parsed.
'use strict'

function element(name, text, ...children) {
  const node = document.createElement(name)
  if (text) node.textContent = text
  node.append(...children)
  return node
}

function deref(api, schema) {
  const name = schema && schema.$ref && schema.$ref.split('/').pop()
  return name ? { name, ...api.components.schemas[name] } : schema || {}
}

function typeOf(api, schema) {
  if (!schema) return ''
  if (schema.$ref) return schema.$ref.split('/').pop()
  if (schema.anyOf) return schema.anyOf.map((one) => typeOf(api, one)).join(' or ')
  const type = [].concat(schema.type || 'any').join(' or ')
  return schema.items ? `${type} of ${typeOf(api, schema.items)}` : type
}

function fields(api, schema, seen = []) {
  const found = deref(api, schema)
  if (found.items) return fields(api, found.items, seen)
  if (!found.properties) return element('p', found.description || typeOf(api, found))
  const table = element('table')
  for (const [name, property] of Object.entries(found.properties)) {
    const about = [property.description, property.enum && property.enum.join(', ')].filter(Boolean).join(': ')
    table.append(
      element('tr', '', element('td', '', element('code', name)), element('td', typeOf(api, property)), element('td', about)),
    )
    const inner = deref(api, property.items || property)
    if (inner.name && inner.properties && !seen.includes(inner.name)) {
      const cell = element('td', '', fields(api, property, [...seen, inner.name]))
      cell.colSpan = 3
      table.append(element('tr', '', cell))
    }
  }
  return table
}

function operation(api, method, path, op) {
  const head = element('span', method.toUpperCase())
  head.className = 'method'
  const box = element('details', '', element('summary', '', head, element('code', path), ' ', op.summary || ''))
  if (op.description) box.append(element('p', op.description))
  if (op.parameters && op.parameters.length > 0) {
    box.append(element('h4', 'Parameters'))
    const table = element('table')
    for (const p of op.parameters) {
      table.append(
        element('tr', '', element('td', '', element('code', p.name)), element('td', `${p.in}, ${typeOf(api, p.schema)}`), element('td', p.description || '')),
      )
    }
    box.append(table)
  }
  for (const [title, holder] of [['Body', op.requestBody], ...Object.entries(op.responses).map(([s, r]) => [`Answer ${s}`, r])]) {
    for (const [type, media] of Object.entries((holder && holder.content) || {})) {
      box.append(element('h4', `${title} (${type})`), fields(api, media.schema))
    }
  }
  return box
}

async function draw() {
  const main = document.getElementById('docs')
  const api = await (await fetch('/api/openapi.json')).json()
  main.replaceChildren(element('h1', `${api.info.title} API`), element('p', api.info.description))
  const groups = new Map()
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, op] of Object.entries(methods)) {
      const tag = (op.tags && op.tags[0]) || 'other'
      if (!groups.has(tag)) groups.set(tag, [])
      groups.get(tag).push(operation(api, method, path, op))
    }
  }
  for (const [tag, boxes] of groups) main.append(element('h2', tag), ...boxes)
  main.append(element('h2', 'Codes of problems'), codes(api['x-codes']))
  // The browser looked for the fragment before there was anything to find.
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView()
}

function codes(list) {
  const table = element('table')
  for (const { code, status, meaning } of list) {
    const row = element('tr', '', element('td', '', element('code', code)), element('td', String(status)), element('td', meaning))
    row.id = code
    table.append(row)
  }
  return table
}

draw().catch((error) => {
  document.getElementById('docs').textContent = `The description could not be loaded: ${error.message}`
})

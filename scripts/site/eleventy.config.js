// Builds the Markdown of this repository as a site with search. The pages stay as a code host
// shows them: links between them work here, those to code need SITE_SOURCE.
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';

/** Where the code can be seen, such as https://git.example.org/mina-sequencer/blob/main. */
const source = process.env.SITE_SOURCE?.replace(/\/+$/, '');
const site = 'scripts/site';

/** The name of a heading in a link, as code hosts and TestLinks make it. */
const slug = (title) =>
  title
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

/** A page's file, from the root of the repository. */
const fileOf = (page) => posix.normalize(page.inputPath);

/** Where a page is on the site: docs/README.md is its first. */
const address = (file) => (file === 'docs/README.md' ? 'index.html' : file.replace(/\.md$/, '.html'));

/** The sections of docs/README.md, each with the pages that its table names. */
const sections = readFileSync('docs/README.md', 'utf8')
  .split(/^## /m)
  .slice(1)
  .map((section) => ({
    title: section.split('\n', 1)[0],
    pages: [...section.matchAll(/\[([^\]]+)\]\(([^)#]+)(#[^)]*)?\)/g)].map(([, title, link, heading = '']) => ({
      title: title[0].toUpperCase() + title.slice(1),
      url: address(posix.join('docs', link)) + heading,
    })),
  }));

export default function (config) {
  config.setUseGitIgnore(false);
  for (const other of ['findings', 'scripts', 'bin', '.tmp', 'dist', '**/node_modules', '**/dist']) config.ignores.add(other);
  config.addGlobalData('sections', sections);
  config.addGlobalData('layout', 'page.njk');
  config.addGlobalData('permalink', () => ({ page }) => address(fileOf(page)));
  config.addGlobalData('eleventyComputed', {
    title: ({ page }) => /^# (.*)$/m.exec(readFileSync(page.inputPath, 'utf8'))?.[1].replaceAll('`', ''),
    up: ({ page }) => '../'.repeat(address(fileOf(page)).split('/').length - 1),
  });
  config.addPassthroughCopy('docs/**/*.{png,svg}');
  config.addPassthroughCopy({
    [`${site}/node_modules/mermaid/dist/mermaid.min.js`]: 'mermaid.js',
    [`${site}/site.css`]: 'site.css',
  });
  config.amendLibrary('md', (md) => {
    md.set({ html: true, linkify: false });
    // A picture is drawn in the browser.
    const fence = md.renderer.rules.fence;
    md.renderer.rules.fence = (tokens, at, ...rest) =>
      tokens[at].info.trim() === 'mermaid'
        ? `<pre class="mermaid">${md.utils.escapeHtml(tokens[at].content)}</pre>`
        : fence(tokens, at, ...rest);
    md.core.ruler.push('links', ({ tokens, env }) => {
      const file = fileOf(env.page);
      for (const [at, token] of tokens.entries()) {
        if (token.type === 'heading_open') token.attrSet('id', slug(tokens[at + 1].content));
        for (const child of token.children ?? []) {
          for (const name of ['href', 'src']) {
            const link = child.attrGet(name);
            if (link === null || /^([a-z]+:|#)/.test(link)) continue;
            const [path, heading] = link.split('#');
            const target = posix.join(posix.dirname(file), path);
            const from = posix.dirname(address(file));
            if (/\.(md|png|svg)$/.test(path)) {
              const there = posix.relative(from, address(target));
              child.attrSet(name, heading === undefined ? there : `${there}#${heading}`);
            } else if (source) {
              child.attrSet(name, `${source}/${target}`);
            } else {
              child.attrs = [['title', target]]; // where the code is, and no link
            }
          }
        }
      }
    });
  });
  return {
    dir: { input: '.', output: `${site}/dist`, includes: site, layouts: site, data: `${site}/data` },
    templateFormats: ['md'],
    markdownTemplateEngine: false,
  };
}

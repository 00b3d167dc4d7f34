/** What a hostile cassette does over and over, by name: the first lines of its `fetch` when `/again` is requested. */
export const FROM_A_CASSETTE: Record<string, string> = {
  'a parameter of 6 MB named 170 times, eight at once': `
    const text = 'select length(' + Array(170).fill('$1::text').join(' || ') + ')';
    await all(8, () => env.DB.query(text, ['x'.repeat(6e6)]));`,
  'statements of 2 MB, eight at once': `
    await all(8, (n) => env.DB.query('select ' + n + ' + ' + Array(5e5).fill('1').join(' + ')));`,
  'statements as deep as they may be': `
    await all(8, (n) => env.DB.query('select ' + n + ' + ' + '('.repeat(30_000) + '1' + ')'.repeat(30_000)));`,
  'statements of 7 s, eight at once': `
    await all(8, (n) => env.DB.query('select count(*) + ' + n + ' from generate_series(1, 20000000) as a (b)'));`,
  'a thousand statements at once': `
    await all(1000, (n) => env.DB.query('select ' + n));`,
  'answers of 60 MB that nobody reads': `
    for (let n = 0; n < 105; n++) void env.DB.query("select repeat('x', 1000000) as x from generate_series(1, 60)").catch(() => {});
    const until = Date.now() + 3000;
    while (Date.now() < until);`,
  'streams that nobody reads': `
    await all(16, async () => {
      for await (const row of env.DB.stream("select n, repeat(md5(n::text), 300) as x from generate_series(1, 100000) as s (n)")) {
        await new Promise((go) => setTimeout(go, 2000));
        break;
      }
    });`,
  'documents of the core by the hundred': `
    await all(200, async () => (await env.CORE.fetch('/openapi')).arrayBuffer());`,
  'an endless body': `
    return new Response(new ReadableStream({ pull(to) { to.enqueue(new Uint8Array(1e6)); } }));`,
  'headers without end': `
    return new Response('x', { headers: Array.from({ length: 2000 }, (_, n) => ['x-' + n, 'y'.repeat(500)]) });`,
  'a flood of lines in its log': `
    for (let n = 0; n < 100000; n++) env.LOG.info({ n }, 'x'.repeat(500));`,
  'an endless loop': 'for (;;);',
  'more memory than it has': 'for (const eaten = []; ; ) eaten.push(new Array(1e6).fill(Math.random()));',
  'its own end': 'process.exit(3);',
};

/** Helpers of the attacks: `all` runs work `count` times, and a failure of one does not stop the others. */
export const HELPERS = `
  const all = (count, work) => Promise.allSettled(Array.from({ length: count }, (_, n) => work(n)));`;

/** Credentials that are named in a text or stand in a URL within it are replaced; every byte beside them stays. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { redactJson, redactLine } from '../../../core/redaction/json.ts';
import { REDACTED } from '../../../core/redaction/shapes.ts';
import { redactText } from '../../../core/redaction/text.ts';
import { redactUrl } from '../../../core/redaction/url.ts';

const test = suite('redaction: texts and URLs');
const starred = (text: string) => text.replaceAll('*', REDACTED);

for (const [url, kept] of [
  ['/x?pass=s&b=1', '/x?pass=*&b=1'],
  ['/x?key[]=s&key[]=t', '/x?key[]=*&key[]=*'],
  ['/x?key%5B%5D=s', '/x?key%5B%5D=*'],
  ['/x?my_key=s&subscription_key=t&virtualKey=u', '/x?my_key=*&subscription_key=*&virtualKey=*'],
  ['/x?user[password]=s', '/x?user[password]=*'],
  ['/x?vk=s&auth=t&pw=u&pwd=v', '/x?vk=*&auth=*&pw=*&pwd=*'],
  ['/x#access_token=s&state=1', '/x#access_token=*&state=1'],
  ['/x?a=1#/cb?token=s', '/x?a=1#/cb?token=*'],
  ['/x?a=1#id_token=s', '/x?a=1#id_token=*'],
  ['//dana:s@h/x', '//*@h/x'],
  ['https://s@h/x?a=1', 'https://*@h/x?a=1'],
  ['/x?back=https://dana:s@h/y', '/x?back=https://*@h/y'],
  ['/x?back=https%3A%2F%2Fdana%3As%40h%2Fy&b=1', '/x?back=*&b=1'],
  ['/x?back=https%3A%2F%2Fh%2F%3Faccess_token%3Ds&b=1', '/x?back=*&b=1'],
  ['/x?back=https%253A%252F%252Fh%252F%253Faccess_token%253Ds', '/x?back=*'],
  ['/x?back=https%3A%2F%2Fh%2F%3Fpage%3D2', '/x?back=https%3A%2F%2Fh%2F%3Fpage%3D2'],
  ['/x?h=Bearer%20abc.def.123', '/x?h=*'],
  ['/x?h=Bearer+abc.def.123&q=bearer+tokens+and+keys', '/x?h=*&q=bearer+tokens+and+keys'],
  ['/x;jsessionid=s?a=1', '/x;jsessionid=*?a=1'],
  ['/x?sv=1&sig=s%2Ft%3D&se=2', '/x?sv=1&sig=*&se=2'],
  [
    '/x?page_token=abc&next_token=d&max_tokens=5&sort_key=a&cache-key=1',
    '/x?page_token=abc&next_token=d&max_tokens=5&sort_key=a&cache-key=1',
  ],
  [
    '/v1/sessions?session_id=01a1fc51&cursor=eyJhIjoxfQ&q=monkey',
    '/v1/sessions?session_id=01a1fc51&cursor=eyJhIjoxfQ&q=monkey',
  ],
] as const) {
  test(`url ${url}`, () => assert.is(redactUrl(url), starred(kept)));
}

for (const [text, kept] of [
  [
    '<https://h/x?sig=s&p=2>; rel="next", <https://h/y?p=3>; rel="last"',
    '<https://h/x?sig=*&p=2>; rel="next", <https://h/y?p=3>; rel="last"',
  ],
  ['5; url=https://dana:s@h/x?key=s', '5; url=https://*@h/x?key=*'],
  ['{"provider":"openai","api_key":"s and t","retry":2}', '{"provider":"openai","api_key":"*","retry":2}'],
  [String.raw`{"inner":"{\"password\":\"s\",\"a\":1}"}`, String.raw`{"inner":"{\"password\":\"*\",\"a\":1}"}`],
  ['connect to postgres://app:s@db/app failed', 'connect to postgres://*@db/app failed'],
  ['proxy http://dana:s@127.0.0.1:3128 refused', 'proxy http://*@127.0.0.1:3128 refused'],
  ['x-api-key: hunter2x', 'x-api-key: *'],
  ['Cookie: theme=dark; session=s1\naccept: a', 'Cookie: *\naccept: a'],
  ['theme=dark; session_token=s; Path=/', 'theme=dark; session_token=*; Path=/'],
  ['client_secret=s&grant_type=x', 'client_secret=*&grant_type=x'],
  ['Cannot use the token: nothing is in it', 'Cannot use the token: nothing is in it'],
  ['input_tokens=184201 max_tokens: 4096', 'input_tokens=184201 max_tokens: 4096'],
  [
    '{"code":"ECONNREFUSED","key":"a","token_type":"bearer"}',
    '{"code":"ECONNREFUSED","key":"a","token_type":"bearer"}',
  ],
  ['no-cache="set-cookie", max-age=0', 'no-cache="set-cookie", max-age=0'],
  ['publickey-credentials-get=(self)', 'publickey-credentials-get=(self)'],
  ['auth;dur=12.3, db;desc="x";dur=1', 'auth;dur=12.3, db;desc="x";dur=1'],
  ['100%, 5%5 and 7%', '100%, 5%5 and 7%'],
  ['C++: a+b, key words: token+words', 'C++: a+b, key words: token+words'],
] as const) {
  test(`text ${text}`, () => assert.is(redactText(text), starred(kept)));
}

test('a JSON value loses what is named for a credential, as a member, a pair, in a list of both or a named value', () => {
  const value = {
    headers: { Authorization: 'x', Accept: '*/*', 'Set-Cookie': ['a', 'b'] },
    raw: [
      ['x-api-key', 's'],
      ['accept', 'a'],
    ],
    rawHeaders: ['Host', 'h', 'x-api-key', 's', 'Accept', '*/*', 'cookie', 'sid=s'],
    words: ['cookie', 'token', 'key'],
    har: [
      { name: 'Cookie', value: 's' },
      { name: 'Accept', value: 'a' },
    ],
    text: 'Bearer abc.def.123',
    usage: { input_tokens: 3, max_tokens: 9 },
    token: 7,
  };
  assert.equal(redactJson(value), {
    headers: { Authorization: REDACTED, Accept: '*/*', 'Set-Cookie': [REDACTED, REDACTED] },
    raw: [
      ['x-api-key', REDACTED],
      ['accept', 'a'],
    ],
    rawHeaders: ['Host', 'h', 'x-api-key', REDACTED, 'Accept', '*/*', 'cookie', REDACTED],
    words: ['cookie', 'token', 'key'],
    har: [
      { name: 'Cookie', value: REDACTED },
      { name: 'Accept', value: 'a' },
    ],
    text: `Bearer ${REDACTED}`,
    usage: { input_tokens: 3, max_tokens: 9 },
    token: 7,
  });
});

test('a line of the log stays JSON, and a key behind a line break in it is found', () => {
  const key = `sk-ant-${'api03'}-Q7mZ2xLk9RtVb4NcYp8WsJd3`;
  const line = redactLine(`${JSON.stringify({ level: 50, msg: `Error:\n${key}\n"Bearer abc.def1"`, code: 'E1' })}\n`);
  assert.equal(JSON.parse(line), { level: 50, msg: `Error:\n${REDACTED}\n"Bearer ${REDACTED}"`, code: 'E1' });
  assert.is(line.at(-1), '\n');
  assert.is(redactLine('token=s\n'), `token=${REDACTED}\n`);
});

test('what was redacted is redacted to itself', () => {
  for (const text of [
    'https://h/x?key=s',
    'Bearer abc',
    '{"api_key":"s"}',
    'https://a:b@h',
    '/x?back=https%3A%2F%2Fh%3Ftoken%3Ds',
  ]) {
    const once = redactText(text);
    assert.is.not(once, text);
    assert.is(redactText(once), once);
    assert.is(redactUrl(once), once);
  }
});

test('looking through a hostile text takes time in proportion to its length', () => {
  const pieces = [
    'a',
    '-',
    '=',
    ':',
    '%',
    '%41',
    '%3d',
    '@',
    '//',
    '://',
    'a://',
    'eyJ',
    'eyJaaaaaaaa.',
    '-eyJaaaaaaaa',
    'sk-',
    '-sk-',
    'SG.',
    'SG.aaaaaaaaaaaaaaaaa',
    'Bearer ',
    'bearer error',
    'basic\t',
    '-----BEGIN PRIVATE KEY-----',
    '-----BEGIN ',
    'token',
    'token=',
    'token:"',
    'key["',
    "key='",
    '\\',
    '\\"',
    'a="',
    '?key=',
    '&',
    '#',
    ';',
    ';key',
    '[',
    '+',
    'a.',
    '12345678:',
    'pa-',
    'gsk_=',
    'https://a@',
    'auth_uri',
    'eyJaaaaaaaa.aaaaaaaa.',
    '%253',
    'a%3Db%26',
  ];
  for (const piece of pieces) {
    for (const text of [
      piece.repeat(Math.ceil(65_536 / piece.length)),
      `x${piece.repeat(Math.ceil(65_536 / piece.length))} token=${piece}`,
    ]) {
      const began = performance.now();
      redactText(text);
      redactUrl(`/x?${text}`);
      const ms = performance.now() - began;
      assert.ok(ms < 1500, `${JSON.stringify(piece)} took ${Math.round(ms)} ms`); // growing with the square it takes minutes
    }
  }
});

test('a secret as long as a body can be is redacted', () => {
  const long = 'a'.repeat(20_000_000);
  assert.is(redactText(`token=${long},b, c`), 'token=[redacted], c');
  assert.is(redactText(`-----BEGIN PRIVATE KEY-----${long}-----END PRIVATE KEY-----!`), '[redacted]!');
  assert.is(redactText(`-----BEGIN PRIVATE KEY-----${long}`), '[redacted]');
});

test.run();

/** With which settings does a cassette run, and what is said when they will not do? */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parseManifest } from '../../../../core/cassette/admission/manifest.ts';
import { readSettings, settingsFromEnvironment } from '../../../../core/cassette/admission/settings.ts';
import { Rejection } from '../../../../core/cassette/running.ts';
import { goodManifest } from '../../../support/cassette-document.ts';

const test = suite('settings of a cassette');
const manifest = parseManifest(goodManifest());
const SECRET = 'sk-very-secret';

const read = (given: Record<string, unknown> = {}, variables: Record<string, string> = {}) =>
  readSettings(manifest, given, settingsFromEnvironment('my-notes', variables, ['my', 'my-notes']), 'my-notes');
const rejection = (given: Record<string, unknown> = {}, variables: Record<string, string> = {}): Rejection => {
  try {
    read(given, variables);
  } catch (error) {
    assert.instance(error, Rejection);
    return error as Rejection;
  }
  return assert.unreachable() as never;
};

test('what nobody sets has its default, and is absent where there is none; a duration is in milliseconds', () => {
  assert.equal(read({ api_key: SECRET }), {
    'model.name': 'small',
    api_key: SECRET,
    top: 5,
    every: 30_000,
    extra: { a: [1] },
  });
});

test('the environment stands above the list, by the installed name', () => {
  const variables = {
    SVC_CASSETTE_MY_NOTES_API_KEY: SECRET,
    SVC_CASSETTE_MY_NOTES_MODEL_NAME: 'large',
    SVC_CASSETTE_MY_NOTES_TOP: '7',
    SVC_CASSETTE_MY_NOTES_EVERY: '2h',
    SVC_CASSETTE_MY_NOTES_VERBOSE: 'true',
    SVC_CASSETTE_MY_NOTES_EXTRA: '[1, 2]',
    SVC_CASSETTE_NOTES_TOP: '9',
  };
  const given = { top: 3, api_key: 'other', 'model.name': 'small', verbose: false };
  assert.equal(read(given, variables), {
    'model.name': 'large',
    api_key: SECRET,
    top: 7,
    every: 7_200_000,
    verbose: true,
    extra: [1, 2],
  });
});

test('no cassette gets what is meant for another whose name begins with its own', () => {
  const variables = { SVC_CASSETTE_MY_NOTES_API_KEY: SECRET, SVC_CASSETTE_MY_TOP: '7' };
  assert.equal(settingsFromEnvironment('my', variables, ['my', 'my-notes', 'notes']), { TOP: '7' });
  assert.equal(settingsFromEnvironment('my', variables, ['my', 'my-note']), { TOP: '7', NOTES_API_KEY: SECRET });
  assert.equal(settingsFromEnvironment('my-notes', variables, ['my', 'my-notes', 'notes']), { API_KEY: SECRET });
});

test('an empty variable counts as not set', () => {
  assert.is(read({ api_key: SECRET }, { SVC_CASSETTE_MY_NOTES_TOP: '' }).top, 5);
});

test('a missing secret is asked for in the environment, any other also in the list', () => {
  const { step, message } = rejection();
  assert.is(step, 'config');
  assert.is(message, 'Cannot start it with these settings: "api_key" is missing: set SVC_CASSETTE_MY_NOTES_API_KEY');
  const plain = parseManifest({ ...goodManifest(), config: [{ key: 'url', type: 'string', required: true }] });
  assert.throws(
    () => readSettings(plain, {}),
    /"url" is missing: set it in the list's "config", or SVC_CASSETTE_NOTES_URL$/,
  );
});

test('each key that is missing, wrong or unknown is named, and no value is', () => {
  const given = { top: 1000, verbose: 'yes', 'model.name': SECRET, every: 30, modelname: SECRET, api_key: 5 };
  const { problems, message } = rejection(given, { SVC_CASSETTE_MY_NOTES_EXTRA: `{${SECRET}` });
  assert.equal([...problems].sort(), [
    '"api_key" must be a text',
    '"every" must be a duration such as "500ms", "30s", "15m", "6h" or "7d"',
    '"extra" must be JSON (it stands in SVC_CASSETTE_MY_NOTES_EXTRA)',
    '"model.name" must be one of "small", "large"',
    '"modelname" is none of its settings; did you mean "model.name"?',
    '"top" must be at most 100',
    '"verbose" must be true or false',
  ]);
  assert.not.match(`${message} ${problems.join(' ')}`, SECRET);
});

test('a number in the environment is a whole one, and a duration no longer than can be counted', () => {
  for (const text of ['1.5', '1e3', 'five', '0x10'])
    assert.match(
      rejection({ api_key: 'x' }, { SVC_CASSETTE_MY_NOTES_TOP: text }).message,
      '"top" must be a whole number',
    );
  for (const text of ['1', 's', '1 s', '1w', '-1s', '999999999999999d'])
    assert.match(
      rejection({ api_key: 'x' }, { SVC_CASSETTE_MY_NOTES_EVERY: text }).message,
      '"every" must be a duration',
    );
});

test.run();

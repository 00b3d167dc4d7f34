-- Of a frequent word only the newest texts are looked at, which this index delimits.
create index found_texts_at on svc.found_texts (at);

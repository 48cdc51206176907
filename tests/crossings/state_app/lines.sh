echo "{\"id\": 500}" | flow put
